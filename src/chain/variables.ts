import type { Grant } from '../config/config.ts'
import type { Environment } from '../config/environment.ts'
import { childEnvironment, isPassedOn } from '../config/environment.ts'
import { KiwiError } from '../shared/errors.ts'
import type { VariableSegment } from '../shared/template.ts'
import type { Plan } from './plan.ts'

/** What one call may know of the environment. */
export interface Variables {
  /** For places where nothing may be missing: addresses, headers, credentials. */
  readonly required: (segment: VariableSegment) => string
  /** For places where an unset variable is an empty text: arguments, environment, bodies. */
  readonly optional: (segment: VariableSegment) => string
  /** All of it, for a child that inherits: a person has to have granted `*`. */
  readonly all: () => Environment
  /** Values of granted variables that were put somewhere: what has to be taken out of results and records. */
  readonly secrets: ReadonlyMap<string, string>
  /** Something made of secrets is one itself, and does not show them by value. */
  readonly derive: (name: string, value: string) => void
}

/** The name under which the whole environment is granted. */
const EVERYTHING = '*'

interface VariableMeans {
  readonly environment: Environment
  readonly grants: readonly Grant[]
  readonly projectPath: string | null
}

/** The environment is no free source: only what every child sees, and what a person granted to this very content. */
export function openVariables(
  plan: Pick<Plan, 'item' | 'secrets' | 'digest'>,
  means: VariableMeans,
): Variables {
  const { environment, grants, projectPath } = means
  const { id } = plan.item
  const used = new Map<string, string>()
  const granted = new Set(
    grants.filter(({ tool, hash }) => tool === id && hash === plan.digest).flatMap(({ names }) => names),
  )

  const valueOf = (name: string): string | null => {
    if (name === 'PROJECT_PATH') return projectPath ?? ''
    if (isPassedOn(name)) return environment[name] ?? ''
    if (!granted.has(name) || !plan.secrets.has(name)) return null
    const value = environment[name] ?? ''
    if (value !== '') used.set(name, value)
    return value
  }

  const resolve = ({ name, form, operand }: VariableSegment, isRequired: boolean): string => {
    const value = valueOf(name)
    if (form === 'default') return value === null || value === '' ? operand : value
    if (form === 'alternate') return value === null || value === '' ? '' : operand
    if (value === null) throw notGranted(plan, name)
    if (value === '' && isRequired) {
      throw new KiwiError('MISSING_SECRET', `Cannot run "${id}": the variable ${name} is not set`, {
        hint: `Ask the person to set ${name} where Kiwi is started`,
        details: { name },
      })
    }
    return value
  }

  return {
    required: (segment) => resolve(segment, true),
    optional: (segment) => resolve(segment, false),
    all: () => {
      if (!granted.has(EVERYTHING)) throw notGranted(plan, EVERYTHING)
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
  }
}

function notGranted(plan: Pick<Plan, 'item' | 'secrets' | 'digest'>, name: string): KiwiError {
  const { id } = plan.item
  const required = { tool: id, hash: plan.digest, names: [name] }
  const isAll = name === EVERYTHING
  const declare =
    isAll || plan.secrets.has(name) ? '' : `declare ${name} under "secrets" in the manifest, then `
  const wanted = isAll ? 'all variables' : name
  return new KiwiError('SECRET_NOT_GRANTED', `Cannot run "${id}": it asks for ${wanted} without a grant`, {
    hint: `A person has to ${declare}add ${JSON.stringify(required)} to "grants" in kiwi.json of the user space`,
    details: { required, layer: 'grants', rule: null },
  })
}
