import type { JsonObject } from '../shared/json.ts'
import { editManifest } from './edit-manifest.ts'

/** Front matter between two lines of dashes, or in a fence at the top: what is before the keys, the keys, what ends them. */
const CONTAINERS: readonly RegExp[] = [
  /^(\uFEFF?(?:\s*\n)?---[ \t]*\r?\n)([^]*?)(^---[ \t]*(?:\r?\n|$))/m,
  /^(\uFEFF?\s*```ya?ml[ \t]*\r?\n)([^]*?)(^```[ \t]*(?:\r?\n|$))/m,
]

interface Parts {
  readonly start: string
  readonly keys: string
  readonly end: string
  readonly body: string
}

function partsOf(text: string): Parts | null {
  for (const container of CONTAINERS) {
    const found = container.exec(text)
    if (found?.index !== 0) continue
    const [whole, start = '', keys = '', end = ''] = found
    return { start, keys, end, body: text.slice(whole.length) }
  }
  return null
}

export function hasFrontMatter(text: string): boolean {
  return partsOf(text) !== null
}

/** A document with keys of its front matter changed; one without gets front matter. */
export async function editDocument(text: string, changes: JsonObject): Promise<string> {
  const parts = partsOf(text)
  if (parts === null) {
    const mark = text.startsWith('\uFEFF') ? '\uFEFF' : ''
    return `${mark}---\n${await editManifest('', changes, 'front matter')}---\n${text.slice(mark.length)}`
  }
  const { start, keys, end, body } = parts
  return start + (await editManifest(keys, changes, 'front matter')) + end + body
}

/** A text in the place of a document: whole when it brings front matter, else below what is there. */
export function withBody(text: string, given: string): string {
  const parts = partsOf(text)
  if (parts === null || hasFrontMatter(given)) return given
  return parts.start + parts.keys + parts.end + given
}
