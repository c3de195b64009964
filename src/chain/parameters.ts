import { KiwiError } from '../shared/errors.ts'
import type { JsonObject, JsonValue } from '../shared/json.ts'
import { LIMITS } from '../shared/limits.ts'
import { textOf } from '../shared/template.ts'
import type { CommandTemplate } from './command-template.ts'
import type { Plan } from './plan.ts'
import { describeFindings } from './schemas.ts'

/** The parameters of a call, checked, with defaults filled in. Each missing or wrong one is named. */
export function checkParameters(plan: Plan, given: JsonObject): JsonObject {
  const parameters: JsonObject = structuredClone(given)
  const findings = plan.checkParameters(parameters)
  if (findings === null) return parameters
  const { missing, invalid } = findings
  throw new KiwiError('INVALID_PARAMETERS', `Cannot run "${plan.item.id}": ${describeFindings(findings)}`, {
    hint: 'Correct what is named and send the call again; load shows the schema',
    fix: { call: 'load', arguments: { item_type: 'tool', item_id: plan.item.id } },
    details: { missing, invalid },
  })
}

/** Parameters as variables of a child: `KIWI_PARAM_NAME`. Large ones come by standard input only. */
export function parameterEnvironment(parameters: JsonObject): Readonly<Record<string, string>> {
  const environment: Record<string, string> = {}
  const owners = new Map<string, string>()
  for (const [name, value] of Object.entries(parameters)) {
    const variable = `KIWI_PARAM_${name.toUpperCase().replaceAll(/[^A-Z0-9_]/g, '_')}`
    const owner = owners.get(variable)
    if (owner !== undefined) {
      throw new KiwiError(
        'INVALID_PARAMETERS',
        `Cannot pass "${name}" and "${owner}": both would be ${variable}`,
        {
          hint: 'Rename one of the parameters in the manifest',
          details: { missing: [], invalid: [{ name, reason: `clashes with "${owner}"` }] },
        },
      )
    }
    owners.set(variable, name)
    const text = textOf(value)
    if (Buffer.byteLength(text) <= LIMITS.environmentBytes) environment[variable] = text
  }
  return environment
}

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
      const flagOf = (name: string): string =>
        Object.hasOwn(flagNames, name) ? (flagNames[name] ?? '') : `--${name}`
      return [
        // Behind an option of many values they would be taken for one of them.
        ...all.filter(([name]) => flagOf(name) === '').map(([name, value]) => valueAlone(name, value)),
        ...all
          .filter(([name]) => flagOf(name) !== '')
          .flatMap(([name, value]) => optionOf(flagOf(name), value, argsStyle === 'equals')),
      ]
    }
  }
}

/** A script may ask for the project's path by an option of its own. */
const PROJECT = 'project_path'

function valueAlone(name: string, value: JsonValue): string {
  const text = textOf(value)
  assertNoOption(name, text)
  return text
}

/** An option with its value: a switch when that is true or false, repeated for a list, left out for null. */
function optionOf(flag: string, value: JsonValue, isTied: boolean): readonly string[] {
  if (value === null) return []
  if (Array.isArray(value)) return value.flatMap((each: JsonValue) => optionOf(flag, each, isTied))
  if (typeof value === 'boolean' && !isTied) return value ? [flag] : []
  const text = textOf(value)
  return isTied || text.startsWith('-') ? [`${flag}=${text}`] : [flag, text]
}

/** Whether a program would read a text as an option. Numbers below zero are values. */
export function isOption(text: string): boolean {
  return text.startsWith('-') && !/^-\d+(?:\.\d+)?$/.test(text)
}

export function assertNoOption(name: string, text: string): void {
  if (!isOption(text)) return
  throw new KiwiError(
    'INVALID_PARAMETERS',
    `Cannot pass "${name}": a value that starts with "-" would be read as an option`,
    {
      details: { missing: [], invalid: [{ name, reason: 'starts with "-"' }] },
    },
  )
}
