import type { JsonObject, JsonValue } from '../../shared/json.ts'
import { typeOf } from './declared.ts'
import type { Part } from './python-entry.ts'
import { partsOf } from './python-entry.ts'
import type { PythonSource } from './python-lines.ts'

interface Arguments {
  /** Null when nothing is declared this way. */
  readonly schema: JsonObject | null
  /** `args_style` where no argument is an option, `flag_names` of what is spelled otherwise than its parameter. */
  readonly config: JsonObject
}

/** More than a manifest may have: it is then refused for having too many. */
const MOST = 256

/** The options and arguments that a script declares with `add_argument`, as far as they are literals. */
export function readArguments(python: PythonSource): Arguments {
  const all = declaredIn(python)
  // Kiwi gives the path of the project by itself.
  const own = all.filter(({ name }) => name !== PROJECT)
  if (own.length === 0) return { schema: null, config: {} }
  const isByPlace = all.every(({ flag, parameter }) => flag === null && parameter['type'] !== 'array')
  // Among options, what has its place by order stands without one.
  const spelled = all
    .map(({ name, flag }) => [name, flag ?? ''] as const)
    .filter(([name, flag]) => flag !== `--${name}` || name === PROJECT)
  return {
    schema: { parameters: own.map(({ parameter }) => parameter) },
    config: {
      ...(isByPlace ? { args_style: 'positional' } : {}),
      ...(isByPlace || spelled.length === 0 ? {} : { flag_names: Object.fromEntries(spelled) }),
    },
  }
}

const PROJECT = 'project_path'

/** The first of each name. */
function declaredIn(python: PythonSource): readonly Argument[] {
  const found = new Map<string, Argument>()
  for (const call of [...python.code.matchAll(/\badd_argument\s*\(/g)].slice(0, MOST)) {
    const argument = argumentOf(partsOf(python.code, call.index + call[0].length - 1), python)
    if (argument !== null && !found.has(argument.name)) found.set(argument.name, argument)
  }
  return [...found.values()]
}

interface Argument {
  readonly name: string
  /** Null: it has its place by order. With dots behind it takes all values of a list at once. */
  readonly flag: string | null
  readonly parameter: JsonObject
}

function argumentOf(parts: readonly Part[], python: PythonSource): Argument | null {
  const { words, named, type } = wordsOf(parts, python)
  const flag =
    words.find((word) => word.startsWith('--')) ?? words.find((word) => word.startsWith('-')) ?? null
  const dest = named.get('dest')
  const action = named.get('action')
  // A switch is named by what it says: one that switches off would mean its opposite by what it sets.
  const isNamed = typeof dest === 'string' && action !== 'store_false'
  const name = isNamed ? dest : (flag ?? words[0] ?? '').replace(/^-+/, '').replaceAll('-', '_')
  if (name === '' || action === 'version') return null
  const parameter = parameterOf(name, named, type, flag === null)
  const takesAll = parameter['type'] === 'array' && action !== 'append'
  return { name, flag: flag !== null && takesAll ? `${flag}...` : flag, parameter }
}

interface Words {
  readonly words: readonly string[]
  readonly named: ReadonlyMap<string, JsonValue | undefined>
  /** The name of what makes a value of the text. */
  readonly type: string | null
}

function wordsOf(parts: readonly Part[], { source, literals }: PythonSource): Words {
  const named = new Map<string, JsonValue | undefined>()
  const words: string[] = []
  let type: string | null = null
  for (const { start, text } of parts) {
    const [whole = '', keyword] = /^(\w+)\s*=\s*/.exec(text) ?? []
    const at = start + whole.length
    const value = literals(at, true)?.value
    if (keyword === 'type') type = /^[\w.]+/.exec(source.slice(at, at + 64))?.[0] ?? null
    else if (keyword !== undefined) named.set(keyword, value)
    else if (typeof value === 'string') words.push(value)
  }
  return { words, named, type }
}

function parameterOf(
  name: string,
  named: ReadonlyMap<string, JsonValue | undefined>,
  type: string | null,
  isPositional: boolean,
): JsonObject {
  const { kind, usual: implied } = kindOf(named, type)
  const given = kind === 'boolean' || typeof named.get('default') === 'boolean' ? null : named.get('default')
  const usual = given ?? implied
  const choices = named.get('choices')
  const help = named.get('help')
  const isMany = named.get('nargs') === '?' || named.get('nargs') === '*'
  return {
    name,
    type: kind,
    required: named.get('required') === true || (isPositional && !isMany && !named.has('default')),
    ...(usual === undefined || usual === null ? {} : { default: usual }),
    ...(Array.isArray(choices) && choices.length > 0 && kind !== 'array' ? { enum: choices } : {}),
    ...(typeof help === 'string' ? { description: help } : {}),
  }
}

/** What an action of argparse makes of an option, and what it is without it. */
const ACTIONS: ReadonlyMap<unknown, { readonly kind: string; readonly usual?: JsonValue }> = new Map([
  ['store_true', { kind: 'boolean', usual: false }],
  ['store_false', { kind: 'boolean', usual: false }],
  ['count', { kind: 'boolean', usual: false }],
  ['append', { kind: 'array' }],
  ['extend', { kind: 'array' }],
])

function kindOf(
  named: ReadonlyMap<string, JsonValue | undefined>,
  type: string | null,
): { readonly kind: string; readonly usual?: JsonValue } {
  const action = ACTIONS.get(named.get('action'))
  if (action !== undefined) return action
  const nargs = named.get('nargs')
  if (nargs === '+' || nargs === '*' || typeof nargs === 'number') return { kind: 'array' }
  if (type === null) return { kind: 'string' }
  const kind = typeOf(type.split('.').at(-1) ?? '')
  // What a function makes of it begins as text.
  return { kind: kind === 'integer' || kind === 'number' ? kind : 'string' }
}
