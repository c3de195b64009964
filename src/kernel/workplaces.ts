import type { Judge } from '../chain/trust.ts'
import { trustCommand } from '../chain/trust-refusals.ts'
import type { Config } from '../config/config.ts'
import { KiwiError } from '../shared/errors.ts'
import type { Maybe } from '../shared/maybe.ts'
import { realPathOf } from '../spaces/disk.ts'
import { isAtOrBelow } from './policy/match.ts'

/** Where agents may work. */
export interface Workplaces {
  /** A folder as the project of a session; null for one that no project is. */
  projectOf(folder: string | null): string | null
  /** Refuses a project that is neither the session's, nor in it, nor one that a person trusts. */
  assertOpen(projectPath: string | null, sessionProject: string | null): Maybe<void>
}

/** The project decides what may be done in it, so an agent does not choose it freely. */
export function openWorkplaces(
  { home, userSpace }: Pick<Config, 'home' | 'userSpace'>,
  { isTrusted }: Pick<Judge, 'isTrusted'>,
): Workplaces {
  const reals = new Map<string, string>()
  /** These stay where they are while we run; one that is not there yet may come. */
  const realOwn = (own: string): string => {
    const real = reals.get(own) ?? realPathOf(own)
    if (real !== null) reals.set(own, real)
    return real ?? own
  }
  const assertTrusted = async (projectPath: string, real: string): Promise<void> => {
    if (!(await isTrusted(projectPath))) throw elsewhere(real)
  }
  /** What a person has besides projects lies in it. */
  const isAround = (real: string): boolean => [home, userSpace].some((own) => isAtOrBelow(realOwn(own), real))
  return {
    projectOf(folder) {
      const real = folder === null ? null : realPathOf(folder)
      return real === null || isAround(real) ? null : folder
    },
    assertOpen(projectPath, sessionProject) {
      if (projectPath === null || projectPath === sessionProject) return
      const real = realPathOf(projectPath) ?? projectPath
      if (isAround(real)) throw tooWide(real)
      const own = sessionProject === null ? null : realPathOf(sessionProject)
      if (own !== null && isAtOrBelow(real, own)) return
      return assertTrusted(projectPath, real)
    },
  }
}

function tooWide(path: string): KiwiError {
  return new KiwiError(
    'PERMISSION_DENIED',
    `Cannot use "${path}" as the project: what the person keeps besides projects lies in it`,
    {
      hint: 'Name the folder of one project in project_path, or leave it out',
      details: { layer: 'machine', rule: 'machine/project', op: 'write', resource: path, required: null },
    },
  )
}

function elsewhere(path: string): KiwiError {
  const command = trustCommand(path)
  return new KiwiError(
    'UNTRUSTED',
    `Cannot work in the project "${path}": this session works elsewhere, and nobody has trusted it`,
    {
      hint: `Leave project_path out to work in the session's own project, or ask the person to review "${path}" and run: ${command}`,
      details: { reason: 'project', project: path, command },
    },
  )
}
