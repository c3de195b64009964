import { KiwiError } from '../shared/errors.ts'
import { textOf } from '../shared/template.ts'
import { HEADER_FIELDS, hasHeader, setHeader } from '../spaces/script-header.ts'
import type { Language } from '../spaces/source/languages.ts'
import { LANGUAGES, languageByCommand, shebangOf } from '../spaces/source/languages.ts'
import { readShell } from '../spaces/source/shell.ts'
import { textFile } from '../spaces/written-item.ts'
import type { Described, Named } from './described.ts'
import { completed } from './described.ts'

/** What a source is written in, and how its file will end: not at all where only its runtime is known. */
export interface Written {
  readonly type: string
  readonly executor: string
  readonly ending: string
}

/** What a source is written in, by what the call, its first line or its header says; null when nothing tells. */
export function languageOf(source: string, { beside, manifest }: Described): Written | null {
  const said = { ...(typeof manifest === 'object' ? manifest : {}), ...beside }
  const given = said['executor'] ?? said['executor_id']
  const command = shebangOf(source)
  const language =
    LANGUAGES.find(({ type, executor }) => said['tool_type'] === type || given === executor) ??
    (given === undefined && command !== null ? languageByCommand(command) : null)
  if (language !== null) return { ...language, ending: endingOf(language, source) }
  // Of a runtime that somebody made, any file will do.
  if (isRuntime(given)) return { type: 'script', executor: given, ending: '' }
  const { executor } = readShell(source)
  if (given !== undefined || !isRuntime(executor)) return null
  const own = LANGUAGES.find((known) => known.executor === executor)
  // What says so in comments of a shell is read as such a file.
  return own === undefined
    ? { type: 'script', executor, ending: '.sh' }
    : { ...own, ending: endingOf(own, source) }
}

function isRuntime(given: unknown): given is string {
  return typeof given === 'string' && given.endsWith('_runtime')
}

/** Sources that require their parts are not modules. */
function endingOf({ endings: [ending = ''] }: Language, source: string): string {
  const isCommon =
    /\brequire\s*\(|\bmodule\.exports\b/.test(source) && !/^\s*(?:import|export)\b/m.test(source)
  return ending === '.mjs' && isCommon ? '.js' : ending
}

/** One file whose header says what it is; a folder with a manifest where a header does not hold all that is said. */
export async function newScript(described: Described, source: string, language: Written): Promise<Named> {
  const { id, manifest: given, beside, files } = described
  if (id === undefined) {
    throw new KiwiError('INVALID_PARAMETERS', 'Cannot create a script: "item_id" is missing', {
      details: { missing: ['item_id'], invalid: [] },
    })
  }
  const { executor_id, tool_type: _type, ...said } = beside
  const fields = { ...said, ...(executor_id === undefined ? {} : { executor: executor_id }) }
  const fits = Object.entries(fields).every(
    ([key, value]) => HEADER_FIELDS.some((field) => field === key) && typeof value === 'string',
  )
  if (given !== undefined || files.length > 0 || !fits || language.ending === '') {
    return asFolder({ ...described, id }, source, language)
  }
  const name = `${id}${language.ending}`
  // The other languages are told by how their files end.
  const isPython = language.type === 'python'
  const implied = {
    version: '1.0.0',
    ...(isPython ? { tool_type: language.type, executor: language.executor } : {}),
  }
  const missing = Object.entries(implied).filter(([field]) => !hasHeader(name, source, field))
  const header = Object.fromEntries(
    [...missing, ...Object.entries(fields)].map(([key, value]) => [key, textOf(value)]),
  )
  const text = setHeader(name, source, header) ?? source
  const manifest = textFile(name, text, source.startsWith('#!'))
  return { id, written: { place: 'tools', kind: 'script', manifest, files: [] } }
}

async function asFolder(
  described: Described & { readonly id: string },
  source: string,
  language: Written,
): Promise<Named> {
  const { id, manifest = {}, beside, files } = described
  const { text } = await completed(
    { ...described, beside: { ...beside, tool_type: 'script', executor: language.executor } },
    manifest,
  )
  const main = textFile(`main${language.ending}`, source, source.startsWith('#!'))
  const manifestFile = textFile('tool.yaml', text)
  return { id, written: { place: 'tools', kind: 'folder', manifest: manifestFile, files: [main, ...files] } }
}
