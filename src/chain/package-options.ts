import type { Config } from '../config/config.ts'
import { KiwiError } from '../shared/errors.ts'
import type { Redact } from '../shared/redact.ts'
import { createRedact } from '../shared/redact.ts'
import type { EnvironmentPlan } from './environment-plan.ts'

type Settings = Config['packages'][string]

/** What a person set for a language, as arguments of the program that installs. A setting it does not know is refused. */
export function optionArguments(planned: EnvironmentPlan, packages: Config['packages']): readonly string[] {
  const options = planned.packages?.options ?? {}
  const settings = settingsOf(planned, packages)
  const unknown = Object.keys(settings).find((name) => !Object.hasOwn(options, name))
  if (unknown !== undefined) {
    throw new KiwiError(
      'INVALID_CONFIG',
      `Cannot use "packages.${planned.packages?.language}.${unknown}" of kiwi.json: "${planned.runtime.id}" has no such option`,
      { hint: `Use one of ${Object.keys(options).join(', ')}` },
    )
  }
  return Object.entries(options).flatMap(([name, { given, otherwise }]) => {
    const value = settings[name]
    if (value === undefined || value === false) return otherwise
    const values = Array.isArray(value) ? value : [value]
    return values.flatMap((one) => given.map((argument) => argument.replaceAll('{value}', () => String(one))))
  })
}

/** An address may hold a password, and a runtime that came with a project is not to see it. */
function settingsOf({ packages: plan, runtime }: EnvironmentPlan, packages: Config['packages']): Settings {
  const language = plan?.language ?? null
  return language === null || runtime.space === 'project' ? {} : (packages[language] ?? {})
}

/** Takes the names and passwords in addresses out of what an installer says. */
export function redactOptions(planned: EnvironmentPlan, packages: Config['packages']): Redact {
  const secrets = new Map<string, string>()
  for (const value of Object.values(settingsOf(planned, packages)).flat()) {
    const [, user, password] = /^\w+:\/\/([^/@:]*):?([^/@]*)@/.exec(String(value)) ?? []
    if (user !== undefined) secrets.set(`packages user ${secrets.size}`, user)
    if (password !== undefined) secrets.set(`packages password ${secrets.size}`, password)
  }
  return createRedact(secrets)
}
