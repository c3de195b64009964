import type { Config } from '../config/config.ts'
import { KiwiError } from '../shared/errors.ts'
import type { Redact } from '../shared/redact.ts'
import { createRedact } from '../shared/redact.ts'
import type { EnvironmentPlan } from './environment-plan.ts'

type Settings = Config['packages'][string]

/** What the program that installs is given. */
export interface PackageOptions {
  readonly arguments: readonly string[]
  /** What no list of processes may show: an address may hold a password. */
  readonly env: Readonly<Record<string, string>>
}

/** What a person set for a language, in the words of the program that installs. A setting it does not know is refused. */
export function packageOptions(planned: EnvironmentPlan, packages: Config['packages']): PackageOptions {
  const options = planned.packages?.options ?? {}
  const settings = settingsOf(planned, packages)
  const named = (name: string): string => `"packages.${planned.packages?.language}.${name}" of kiwi.json`
  const unknown = Object.keys(settings).find((name) => !Object.hasOwn(options, name))
  if (unknown !== undefined) {
    throw new KiwiError(
      'INVALID_CONFIG',
      `Cannot use ${named(unknown)}: "${planned.runtime.id}" has no such option`,
      { hint: `Use one of ${Object.keys(options).join(', ')}` },
    )
  }
  const secret = Object.keys(settings).find((name) => valuesOf(settings[name]).some(holdsPassword))
  if (secret !== undefined && planned.runtime.space === 'project') {
    throw new KiwiError(
      'DEPENDENCY_REFUSED',
      `Cannot install packages by "${planned.runtime.id}", which came with the project: ${named(secret)} holds a password`,
      { hint: 'Use a runtime of your own or one that is shipped, or an address without a password' },
    )
  }
  const given = Object.entries(options).map(([name, option]) => ({
    ...option,
    values: valuesOf(settings[name]),
  }))
  return {
    arguments: given.flatMap(({ values, given: each, otherwise }) =>
      values.length === 0 ? otherwise : values.flatMap((value) => each.map((text) => fill(text, value))),
    ),
    env: Object.fromEntries(
      given.flatMap(({ values, env }) =>
        Object.entries(values.length === 0 ? {} : env).map(([name, text]) => [
          name,
          fill(text, values.join(' ')),
        ]),
      ),
    ),
  }
}

function fill(text: string, value: string): string {
  return text.replaceAll('{value}', () => value)
}

function settingsOf({ packages: plan }: EnvironmentPlan, packages: Config['packages']): Settings {
  const language = plan?.language ?? null
  return language === null ? {} : (packages[language] ?? {})
}

/** None when it is not set, or turned off. */
function valuesOf(value: Settings[string] | undefined): readonly string[] {
  if (value === undefined || value === false) return []
  return (Array.isArray(value) ? value : [value]).map(String)
}

/** The name and the password in an address. */
const CREDENTIALS = /^\w+:\/\/([^/@:]*):?([^/@]*)@/

function holdsPassword(value: string): boolean {
  return CREDENTIALS.test(value)
}

/** Takes the names and passwords in addresses out of what an installer says. */
export function redactOptions(planned: EnvironmentPlan, packages: Config['packages']): Redact {
  const secrets = new Map<string, string>()
  for (const value of Object.values(settingsOf(planned, packages)).flat()) {
    const [, user, password] = CREDENTIALS.exec(String(value)) ?? []
    if (user !== undefined) secrets.set(`packages user ${secrets.size}`, user)
    if (password !== undefined) secrets.set(`packages password ${secrets.size}`, password)
  }
  return createRedact(secrets)
}
