import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { textOf } from '../shared/template.ts'
import { editDocument, hasFrontMatter } from '../spaces/edit-document.ts'
import { BODY } from '../spaces/item.ts'
import { documentText, manifestText, textFile, textIn } from '../spaces/written-item.ts'
import type { Described, Named } from './described.ts'
import { completed } from './described.ts'

/** A markdown document: what is said of it becomes its front matter, unless it says everything itself. */
export async function newDocument(
  described: Described,
  content: string | null,
  known?: JsonObject,
): Promise<Named> {
  const { kind, manifest = {}, beside, files } = described
  const isSilent = Object.keys(beside).length === 0 && isEmpty(manifest)
  const body = content ?? bodyIn(files)
  assertText(described, body)
  const isWhole = hasFrontMatter(body) || (kind === 'directive' && /<directive\b/.test(body))
  const raw = known ?? (await completed(described, manifest)).raw
  const id = textOf(raw['tool_id'] ?? '')
  if (isWhole && !isSilent && !hasFrontMatter(body)) throw saidTwice(id)
  const text = isWhole ? await merged(body, described) : await written(kind, raw, body)
  const place = kind === 'directive' ? 'directives' : 'knowledge'
  const others = content === null ? files.filter(({ path }) => path !== BODY) : files
  return { id, written: { place, kind: 'document', manifest: textFile(`${id}.md`, text), files: others } }
}

function isEmpty(manifest: string | JsonObject): boolean {
  return typeof manifest === 'string' ? manifest.trim() === '' : Object.keys(manifest).length === 0
}

function bodyIn(files: Described['files']): string {
  const body = files.find(({ path }) => path === BODY)
  return body === undefined ? '' : textIn(body)
}

/** What the call says goes over what the document says. */
async function merged(text: string, { manifest, beside }: Described): Promise<string> {
  const said = { ...(typeof manifest === 'object' ? manifest : {}), ...beside }
  return Object.keys(said).length === 0 ? text : editDocument(text, said)
}

async function written(kind: Described['kind'], raw: JsonObject, body: string): Promise<string> {
  if (kind !== 'directive') return documentText(raw, body)
  const { tool_id = null, tool_type: _type, executor: _executor, parameters, ...rest } = raw
  const inputs = parameters === undefined ? {} : { inputs: parameters }
  return `---\n${await manifestText({ name: tool_id, ...rest, ...inputs })}---\n${body}`
}

/** A directive may take its text from what it extends. */
function assertText({ kind, id = 'item' }: Described, body: string): void {
  if (kind !== 'knowledge' || body.trim() !== '') return
  throw new KiwiError(
    'INVALID_PARAMETERS',
    `Cannot create "${id}": "content" is missing: what is to be known`,
    {
      hint: 'Give parameters.content, the text in markdown, and parameters.title',
      details: { missing: ['content'], invalid: [] },
    },
  )
}

function saidTwice(id: string): KiwiError {
  const reason = 'a directive in XML says itself what it is'
  return new KiwiError('INVALID_PARAMETERS', `Cannot create "${id}": ${reason}`, {
    hint: 'Give only "content", with name, version and description inside',
    details: { missing: [], invalid: [{ name: 'manifest', reason }] },
  })
}
