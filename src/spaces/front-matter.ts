import type { JsonObject } from '../shared/json.ts'
import { BODY } from './item.ts'
import type { Position } from './parse-document.ts'
import { parseLocated } from './parse-document.ts'
import { stripSignatures } from './signature-line.ts'

interface Document {
  readonly given: JsonObject
  /** The end of the text, as long as it is. */
  readonly body: string
  /** Where in the file a key or entry stands. */
  readonly at: (path: readonly PropertyKey[]) => Position
}

/** `---` around it, or a fence of YAML as one generation wrote it. */
const MATTER = /^(\uFEFF?(?:\s*\n)?---[ \t]*\r?\n)(?:([^]*?)\r?\n)??---[ \t]*(?:\r?\n([^]*))?$/
const FENCE = /^(\uFEFF?\s*```yaml[ \t]*\r?\n)(?:([^]*?)\r?\n)??```[ \t]*(?:\r?\n([^]*))?$/

/** Takes a markdown text apart: what stands at its top as data, and the rest. Signature lines are part of neither. */
export async function readFrontMatter(text: string, where: string): Promise<Document> {
  const bare = stripSignatures(text, BODY)
  const [, open = '', front = '', rest = ''] = MATTER.exec(bare) ?? FENCE.exec(bare) ?? []
  if (open === '') return { given: {}, body: bare, at: atTop }
  if (front.split('\n').every((line) => /^\s*(?:#|$)/.test(line))) return { given: {}, body: rest, at: atTop }
  // As many lines in front as in the file make the lines of a fault those of the file.
  const before = text.slice(0, text.length - bare.length + open.length).split('\n').length - 1
  const { value, at: located } = await parseLocated('\n'.repeat(before) + front, where)
  return { given: value, body: rest, at: located }
}

function atTop(): Position {
  return { line: 1, column: 1 }
}

/** What a text calls itself. */
export function headingOf(body: string): string | undefined {
  return /^\uFEFF?#[ \t]+(\S.*)$/m.exec(body)?.[1]
}
