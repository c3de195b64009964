import type { JsonObject, JsonValue } from '../shared/json.ts'
import { textOf } from '../shared/template.ts'
import type { CommandTemplate } from './command-template.ts'
import { assertNoOption } from './parameters.ts'

/**
 * Parameters on the command line, in the manifest's order: a name that it does not declare would be an option of the
 * caller's choice. A value can never be taken for an option of its own.
 */
export function parameterArguments(
  template: Pick<CommandTemplate, 'argsStyle' | 'parameterOrder' | 'flagNames'>,
  parameters: JsonObject,
  projectPath: string | null = null,
): readonly string[] {
  const { argsStyle, parameterOrder, flagNames } = template
  const given = parameterOrder
    .filter((name) => Object.hasOwn(parameters, name))
    .map((name) => [name, parameters[name] ?? null] as const)
  switch (argsStyle) {
    case 'none':
    case 'call':
      return []
    case 'positional':
      return given.map(([name, value]) => valueAlone(name, value))
    case 'equals':
    case 'flags': {
      const isOwn = parameterOrder.includes(PROJECT) || !Object.hasOwn(flagNames, PROJECT)
      const all = isOwn || projectPath === null ? given : [...given, [PROJECT, projectPath] as const]
      const spelled = all.flatMap(([name, value]) => {
        const flag = Object.hasOwn(flagNames, name) ? (flagNames[name] ?? null) : `--${name}`
        return flag === null ? [] : [{ name, flag, value }]
      })
      return [
        // Behind an option of many values they would be taken for one of them.
        ...spelled.filter(({ flag }) => flag === '').flatMap(({ name, value }) => valuesAlone(name, value)),
        ...spelled.filter(({ flag }) => flag !== '').flatMap((option) => optionOf(option, argsStyle)),
      ]
    }
  }
}

/** A script may ask for the project's path by an option of its own. */
const PROJECT = 'project_path'

function valuesAlone(name: string, value: JsonValue): readonly string[] {
  if (value === null) return []
  return Array.isArray(value)
    ? value.map((each: JsonValue) => valueAlone(name, each))
    : [valueAlone(name, value)]
}

function valueAlone(name: string, value: JsonValue): string {
  const text = textOf(value)
  assertNoOption(name, text)
  return text
}

interface Option {
  readonly name: string
  readonly flag: string
  readonly value: JsonValue
}

/** Behind the spelling of an option that takes all values of a list at once. */
const TAKES_ALL = /\.{3}$/

/** An option with its value: a switch when that is true or false, repeated for a list, left out for null. */
function optionOf({ name, flag: spelling, value }: Option, style: 'equals' | 'flags'): readonly string[] {
  const flag = spelling.replace(TAKES_ALL, '')
  if (value === null) return []
  if (Array.isArray(value)) {
    if (TAKES_ALL.test(spelling)) return value.length === 0 ? [] : [flag, ...valuesAlone(name, value)]
    return value.flatMap((each: JsonValue) => optionOf({ name, flag, value: each }, style))
  }
  if (typeof value === 'boolean' && style === 'flags') return value ? [flag] : []
  const text = textOf(value)
  return style === 'equals' || text.startsWith('-') ? [`${flag}=${text}`] : [flag, text]
}
