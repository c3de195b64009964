import type { JsonObject, JsonValue } from '../../shared/json.ts'
import { typeOf } from './declared.ts'
import type { Part } from './python-entry.ts'
import { partsOf } from './python-entry.ts'
import type { PythonSource } from './python-lines.ts'

interface Arguments {
  /** Null when nothing is declared this way. */
  readonly schema: JsonObject | null
  /** `args_style` where no argument is an option, `flag_names` of options that are spelled otherwise than their parameter. */
  readonly config: JsonObject
}

/** More than a manifest may have: it is then refused for having too many. */
const MOST = 256

/** The options and arguments that a script declares with `add_argument`, as far as they are literals. */
export function readArguments(python: PythonSource): Arguments {
  const { code } = python
  const parameters = new Map<string, JsonObject>()
  const flagNames = new Map<string, string>()
  let hasOptions = false
  let calls = 0
  for (const found of code.matchAll(/\badd_argument\s*\(/g)) {
    calls += 1
    if (calls > MOST) break
    const argument = argumentOf(partsOf(code, found.index + found[0].length - 1), python)
    if (argument === null) continue
    const { name, flag, parameter } = argument
    // Kiwi gives it by itself.
    if (name === 'project_path' || parameters.has(name)) continue
    parameters.set(name, parameter)
    hasOptions ||= flag !== null
    if (flag !== null && flag !== `--${name}`) flagNames.set(name, flag)
  }
  if (parameters.size === 0) return { schema: null, config: {} }
  return {
    schema: { parameters: [...parameters.values()] },
    config: {
      ...(hasOptions ? {} : { args_style: 'positional' }),
      ...(flagNames.size > 0 ? { flag_names: Object.fromEntries(flagNames) } : {}),
    },
  }
}

interface Argument {
  readonly name: string
  /** Null: it has its place by order. */
  readonly flag: string | null
  readonly parameter: JsonObject
}

function argumentOf(parts: readonly Part[], python: PythonSource): Argument | null {
  const { words, named, type } = wordsOf(parts, python)
  const flag =
    words.find((word) => word.startsWith('--')) ?? words.find((word) => word.startsWith('-')) ?? null
  const dest = named.get('dest')
  const name =
    typeof dest === 'string' ? dest : (flag ?? words[0] ?? '').replace(/^-+/, '').replaceAll('-', '_')
  if (name === '' || named.get('action') === 'version') return null
  return { name, flag, parameter: parameterOf(name, named, type, flag === null) }
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
  const usual = named.get('default') ?? implied
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
  ['store_false', { kind: 'boolean', usual: true }],
  ['count', { kind: 'integer' }],
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
  return { kind: kind === 'any' || kind === 'object' || kind === 'array' ? 'string' : kind }
}
