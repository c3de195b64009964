import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { copyOf } from '../shared/json.ts'
import { LIMITS } from '../shared/limits.ts'
import { textOf } from '../shared/template.ts'
import type { Plan } from './plan.ts'
import { describeFindings } from './schemas.ts'

/** The parameters of a call, checked, with defaults filled in. Each missing or wrong one is named. */
export function checkParameters(plan: Plan, given: JsonObject): JsonObject {
  const parameters = copyOf(given)
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
