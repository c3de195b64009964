import type { JsonValue } from '../../shared/json.ts'
import { isJsonObject } from '../../shared/json.ts'
import { textOf } from '../../shared/template.ts'

/** How the clients write variables: as other programs do, with a dollar alone, or not at all. */
export type Dialect = 'usual' | 'dollar' | 'none'

export interface Variables {
  /** The same value with our variables in the place of theirs. */
  readonly value: JsonValue
  /** Names of what the client would have asked for. */
  readonly asked: readonly string[]
  /** Names of what it would have asked for and is no secret: empty, until somebody writes it there. */
  readonly open: readonly string[]
  /** What could not be said in ours. */
  readonly left: readonly string[]
}

/** What a client asks its person for, by the name it has there. */
export type Inputs = ReadonlyMap<string, { readonly isSecret: boolean; readonly value: string | null }>

/** The inputs that a config declares. */
export function readInputs(given: JsonValue | undefined): Inputs {
  const declared = Array.isArray(given) ? given.filter((input) => isJsonObject(input)) : []
  return new Map(
    declared.map(({ id, password, default: value }) => [
      textOf(id ?? ''),
      { isSecret: password === true, value: value === undefined || value === null ? null : textOf(value) },
    ]),
  )
}

/** Variables of another client become ours: `${env:A}`, `{env:A}` and `$A` are `${A}`; an input that is no secret is what it usually is. */
export function takeVariables(given: JsonValue, dialect: Dialect, inputs: Inputs): Variables {
  const asked = new Set<string>()
  const open = new Set<string>()
  const left = new Set<string>()
  const one = (whole: string, body: string): string => {
    const [, kind = '', name = ''] = /^(env|input|config|command|file):(.+)$/.exec(body) ?? []
    if (kind === 'env' && WORD.test(name)) return `\${${name}}`
    if (kind === 'input') {
      const secret = name
        .toUpperCase()
        .replaceAll(/[^A-Z0-9]+/g, '_')
        .replace(/^(?=\d)/, '_')
      const input = inputs.get(name)
      if (input?.isSecret === false) {
        if (input.value !== null) return input.value.replaceAll('${', () => '$${')
        open.add(secret)
        return `\${${secret}:-}`
      }
      asked.add(secret)
      return `\${${secret}}`
    }
    const known = PLACES.get(body.replace(/:-.*$/, ''))
    if (known !== undefined) return known
    if (!OF_EDITORS.has(body) && /^[A-Za-z_]\w*(?::[-+][^{}]*)?$/.test(body)) return whole
    left.add(whole)
    return `$${whole}`
  }
  const text = (value: string): string => {
    if (dialect === 'none') return value.replaceAll('${', () => '$${')
    const braced = value.replaceAll(/\$\{([^{}]*)\}|(?<!\$)\{(env:[^{}]*|file:[^{}]*)\}/g, (whole, a, b) => {
      if (a !== undefined) return one(whole, a)
      if (b.startsWith('env:')) return one(`$${whole}`, b)
      left.add(whole)
      return whole
    })
    return dialect === 'dollar' ? braced.replaceAll(/\$([A-Za-z_]\w*)/g, (_, name) => `\${${name}}`) : braced
  }
  const walk = (value: JsonValue): JsonValue => {
    if (typeof value === 'string') return text(value)
    if (Array.isArray(value)) return value.map((item: JsonValue) => walk(item))
    if (!isJsonObject(value)) return value
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, walk(inner)]))
  }
  return { value: walk(given), asked: [...asked], open: [...open], left: [...left] }
}

const WORD = /^[A-Za-z_]\w*$/
/** Not of the environment: what is open in an editor just then. */
const OF_EDITORS: ReadonlySet<string> = new Set(
  [
    'workspaceFolderBasename workspaceRootFolderName file fileBasename fileBasenameNoExtension fileExtname fileDirname',
    'fileDirnameBasename fileWorkspaceFolder relativeFile relativeFileDirname cwd lineNumber columnNumber selectedText',
    'execPath defaultBuildTask extensionInstallFolder',
  ]
    .join(' ')
    .split(' '),
)
const PLACES: ReadonlyMap<string, string> = new Map([
  ['workspaceFolder', '${PROJECT_PATH}'],
  ['workspaceRoot', '${PROJECT_PATH}'],
  ['CLAUDE_PROJECT_DIR', '${PROJECT_PATH}'],
  ['userHome', '${HOME}'],
  ['/', '/'],
  ['pathSeparator', '/'],
])
