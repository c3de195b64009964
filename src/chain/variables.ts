import type { Environment } from '../config/environment.ts'
import { childEnvironment, isPassedOn } from '../config/environment.ts'
import { KiwiError } from '../shared/errors.ts'
import type { VariableSegment } from '../shared/template.ts'
import type { Plan } from './plan.ts'
import type { Place } from './secret-places.ts'
import { showPlace, sinkHolds } from './secret-places.ts'

/** What one call may know of the environment and the vault. */
export interface Variables {
  /** For places where nothing may be missing: addresses, headers, credentials. */
  readonly required: (segment: VariableSegment, place?: Place) => string
  /** For places where an unset variable is an empty text: arguments, environment, bodies. */
  readonly optional: (segment: VariableSegment, place?: Place) => string
  /** All of it, for a child that inherits: a person has to have granted `*`. */
  readonly all: () => Environment
  /** Values of granted variables that were put somewhere: what has to be taken out of results and records. */
  readonly secrets: ReadonlyMap<string, string>
  /** Something made of secrets is one itself, and does not show them by value. */
  readonly derive: (name: string, value: string) => void
  /** Refuses when one of these names is not granted, or stands for nothing: all of them are told at once. */
  readonly assertReady: (names: readonly string[]) => void
  /** Refuses what was put where its grant does not reach; to be asked before anything is made of it. */
  readonly assertPlaces: (host: string | null) => void
}

/** The name under which the whole environment is granted. */
export const EVERYTHING = '*'

/** A person's yes, as far as a call has to know it. */
export interface VariableGrant {
  readonly tool: string
  readonly digest: string
  readonly secret: string
  readonly sink: string | null
}

interface VariableMeans {
  readonly environment: Environment
  /** What the names that the plan asks for stand for. */
  readonly values: ReadonlyMap<string, string>
  readonly grants: readonly VariableGrant[]
  readonly projectPath: string | null
}

/** What asks: its content, the names it declares, and the host that its manifest writes out. */
interface Asking extends Pick<Plan, 'item' | 'secrets' | 'digest'> {
  readonly host?: string | null
}

/** The environment is no free source: only what every child sees, and what a person granted to this very content. */
export function openVariables(asking: Asking, means: VariableMeans): Variables {
  const { environment, values, grants, projectPath } = means
  const { id } = asking.item
  const used = new Map<string, string>()
  const puts: { readonly name: string; readonly place: Place }[] = []
  const own = grants.filter(({ tool }) => tool === id)
  const given = own.filter(({ digest }) => digest === asking.digest)
  const granted = new Set(given.map(({ secret }) => secret))
  const refusal = (...names: readonly string[]): KiwiError => {
    const isStale = own.some(({ secret, digest }) => names.includes(secret) && digest !== asking.digest)
    return notGranted(asking, names, { projectPath, isStale })
  }

  const valueOf = (name: string, place: Place): string | null => {
    if (name === 'PROJECT_PATH') return projectPath ?? ''
    if (isPassedOn(name)) return environment[name] ?? ''
    if (!granted.has(name) || !asking.secrets.has(name)) return null
    const value = values.get(name) ?? ''
    if (value === '') return ''
    used.set(name, value)
    puts.push({ name, place })
    return value
  }

  const resolve = ({ name, form, operand }: VariableSegment, isRequired: boolean, place: Place): string => {
    const value = valueOf(name, place)
    if (form === 'default') return value === null || value === '' ? operand : value
    if (form === 'alternate') return value === null || value === '' ? '' : operand
    if (value === null) throw refusal(name)
    if (value === '' && isRequired) throw missingSecret(id, name)
    return value
  }

  return {
    required: (segment, place = 'call') => resolve(segment, true, place),
    optional: (segment, place = 'call') => resolve(segment, false, place),
    all: () => {
      if (!granted.has(EVERYTHING)) throw refusal(EVERYTHING)
      const open = new Set(Object.values(childEnvironment(environment)))
      for (const [name, value] of Object.entries(environment)) {
        if (value !== '' && !open.has(value)) used.set(name, value)
      }
      return environment
    },
    secrets: used,
    derive: (name, value) => {
      if (used.size > 0) used.set(name, value)
    },
    assertReady: (names) => {
      const ungranted = names.filter((name) => !granted.has(name) || !asking.secrets.has(name))
      if (ungranted.length > 0) throw refusal(...ungranted)
      const unset = names.filter((name) => (values.get(name) ?? '') === '')
      if (unset.length > 0) throw missingSecret(id, ...unset)
    },
    assertPlaces: (host) => {
      for (const { name, place } of puts) {
        const sinks = given.filter(({ secret }) => secret === name).map(({ sink }) => sink)
        if (sinks.every((sink) => !sinkHolds(sink, place, host)))
          throw elsewhere(asking, name, { sinks, place, host })
      }
    },
  }
}

function missingSecret(id: string, ...names: readonly string[]): KiwiError {
  const missing = names.length === 1 ? `the variable ${names[0]} is` : `the variables ${names.join(', ')} are`
  return new KiwiError('MISSING_SECRET', `Cannot run "${id}": ${missing} not set`, {
    hint: `Ask the person to run: ${names.map((name) => `kiwi secret set ${name}`).join(', then ')}`,
    details: { name: names[0], ...(names.length === 1 ? {} : { names }) },
  })
}

interface Circumstances {
  readonly projectPath: string | null
  /** It was granted to what the tool was before. */
  readonly isStale: boolean
}

function notGranted(
  asking: Asking,
  names: readonly string[],
  { projectPath, isStale }: Circumstances,
): KiwiError {
  const { item, digest, secrets, host = null } = asking
  const { id } = item
  const isAll = names.includes(EVERYTHING)
  const unasked = names.filter((name) => !isAll && !secrets.has(name)).join(', ')
  const declare = unasked === '' ? '' : `declare ${unasked} under "secrets" in the manifest, then `
  const wanted = isAll ? 'all variables' : names.join(', ')
  const reason = isStale
    ? `it has changed since ${wanted} was granted to it`
    : `it asks for ${wanted} without a grant`
  const command = [
    `kiwi grant ${id} ${isAll ? "'*'" : names.join(' ')}`,
    ...(host === null || isAll ? [] : [`--to host:${host}`]),
    ...(item.space === 'project' && projectPath !== null ? [`--project ${projectPath}`] : []),
  ].join(' ')
  return new KiwiError('SECRET_NOT_GRANTED', `Cannot run "${id}": ${reason}`, {
    hint: `A person has to ${declare}run: ${command}`,
    details: { required: { tool: id, hash: digest, names }, layer: 'grants', rule: null },
  })
}

interface Put {
  readonly sinks: readonly (string | null)[]
  readonly place: Place
  readonly host: string | null
}

function elsewhere({ item, digest }: Asking, name: string, { sinks, place, host }: Put): KiwiError {
  const { id } = item
  const granted = sinks.join(' and ')
  const at = showPlace(place, host)
  return new KiwiError(
    'SECRET_NOT_GRANTED',
    `Cannot run "${id}": ${name} is granted for ${granted}, and would go to ${at}`,
    {
      hint: `Take it out of there in the manifest, or ask the person to grant ${name} anew with kiwi grant`,
      details: { required: { tool: id, hash: digest, names: [name] }, layer: 'grants', rule: granted },
    },
  )
}
