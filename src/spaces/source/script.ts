import { extname } from 'node:path'
import type { JsonObject } from '../../shared/json.ts'
import { assertPlain } from '../../shared/json.ts'
import { textOf } from '../../shared/template.ts'
import { invalidManifest } from '../manifest.ts'
import { stripSignatures } from '../signature-line.ts'
import type { Declared } from './declared.ts'
import { OPEN_SCHEMA, keyOf } from './declared.ts'
import { readJavascript } from './javascript.ts'
import { LANGUAGES, languageByCommand, languageByEnding, shebangOf } from './languages.ts'
import { readPython } from './python.ts'
import { readShell } from './shell.ts'

interface Script {
  readonly stem: string
  readonly fileName: string
  readonly path: string
  /** Its text, as much of it as metadata is looked for in. */
  readonly text: string
}

interface ReadScript {
  readonly raw: JsonObject
  readonly warnings: readonly string[]
}

/** The manifest of a single script: what it says of itself, and for the rest what its name says. It is never run. */
export async function readScript(script: Script): Promise<ReadScript> {
  const { stem, fileName, path, text } = script
  const bare = withoutSignatures(text, fileName)
  const declared = await declaredIn(bare, fileName, path)
  const { config, schema, more, documentation, warnings } = declared
  const type = textOf(declared.tool_type ?? 'script')
  if (type === 'primitive') {
    throw invalidManifest(stem, [
      { name: 'tool_type', reason: 'primitives are code of Kiwi; a file is none' },
    ])
  }
  const isScript = SCRIPTS.has(type)
  const executor = declared.executor ?? executorFor(script, type)
  const undeclared = ['version', ...(fileName.endsWith('.py') ? ['tool_type', 'executor'] : [])].filter(
    (name) => !Object.hasOwn(declared, name),
  )
  const isVirtual = !['version', 'tool_type', 'executor'].some((name) => Object.hasOwn(declared, name))
  const raw: JsonObject = {
    tool_id: stem,
    tool_type: declared.tool_type ?? 'script',
    ...keyOf('executor', executor),
    version: declared.version ?? '1.0.0',
    ...keyOf('description', declared.description),
    ...keyOf('category', declared.category),
    config: isScript ? { ...config, entrypoint: fileName } : config,
    ...(schema ?? OPEN_SCHEMA),
    // Unknown means yes.
    mutates_state: declared.mutates_state ?? true,
    ...more,
    _file: fileName,
    ...(isVirtual ? { _virtual: true } : {}),
    ...(undeclared.length > 0 ? { _undeclared: undeclared } : {}),
    ...(documentation === '' || documentation === declared.description
      ? {}
      : { _documentation: documentation }),
  }
  assertPlain(raw, `"${path}"`, 'PARSE_ERROR')
  return { raw, warnings }
}

/** Signature lines become empty ones, so that a fault is told with its line in the file. */
function withoutSignatures(text: string, fileName: string): string {
  const bare = stripSignatures(text, fileName)
  if (bare.length === text.length) return text
  const shebang = /^\uFEFF?(?:#![^\n]*\n)?/.exec(bare)?.[0].length ?? 0
  const gone = text.slice(shebang, shebang + text.length - bare.length)
  return bare.slice(0, shebang) + '\n'.repeat(gone.split('\n').length - 1) + bare.slice(shebang)
}

/** Types that are run from their own source; the others are data that happens to be written in one. */
const SCRIPTS: ReadonlySet<string> = new Set(['script', 'docker', ...LANGUAGES.map(({ type }) => type)])

async function declaredIn(text: string, fileName: string, path: string): Promise<Declared> {
  switch (extname(fileName)) {
    case '.py':
      return readPython(text.replace(/^\uFEFF/, ''), path)
    case '.sh':
      return readShell(text)
    default:
      return readJavascript(text, path)
  }
}

/** By the program a shebang names, else by the suffix. Python has many programs, and one runtime. */
function executorFor({ stem, fileName, text }: Script, type: string): string | undefined {
  if (!SCRIPTS.has(type) || type === 'docker') return undefined
  const suffix = extname(fileName)
  const command = shebangOf(text)
  if (command === null || suffix === '.py') return languageByEnding(suffix)?.executor
  const language = languageByCommand(command)
  if (language !== null) return language.executor
  const reason = `missing; no runtime of Kiwi runs "${command}", which its first line names: declare the one that does`
  throw invalidManifest(stem, [{ name: 'executor', reason }])
}
