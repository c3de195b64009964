import type { SandboxHost } from '../primitives/subprocess/confinement.ts'
import type { Subprocess } from '../primitives/subprocess/subprocess.ts'
import type { DraftMeans, Request } from './draft-means.ts'
import type { Draft } from './draft.ts'
import { draftCall } from './draft.ts'
import { draftUnsettled } from './draft-settled.ts'
import type { Granted, createFindGranted } from './find-granted.ts'
import type { createGatherRequirements } from './gather-requirements.ts'
import type { Library, createFindLibrary } from './library.ts'
import { mayRunUnvouched } from './own-hold.ts'
import type { Plan } from './plan.ts'
import type { Requirement } from './requirements.ts'
import { withFloor } from './sandbox.ts'
import type { SecretCommands } from './secret-commands.ts'
import type { LoadArgvPolicies, LoadedPolicies } from './shell/argv-policies.ts'
import { NO_POLICIES } from './shell/argv-policies.ts'

interface Finders {
  /** What is the same for every call. */
  readonly fixed: Omit<DraftMeans, keyof Granted | 'library' | 'sandboxHost' | 'requirements' | 'argv'>
  readonly gather: ReturnType<typeof createGatherRequirements>
  readonly findLibrary: ReturnType<typeof createFindLibrary>
  readonly grantedTo: ReturnType<typeof createFindGranted>
  readonly secretCommands: SecretCommands
  readonly subprocess: Pick<Subprocess, 'sandbox'>
  readonly argvPolicies: LoadArgvPolicies
}

/** Finds what a call needs and works it out: at once, unless something has to be read or asked for. */
export function createDraft(finders: Finders): (plan: Plan, request: Request) => Draft | Promise<Draft> {
  const { fixed, gather, findLibrary, grantedTo, secretCommands, subprocess, argvPolicies } = finders
  return (plan, request) => {
    const draft = (
      library: Library | null,
      sandboxHost: SandboxHost | null,
      argv: LoadedPolicies,
    ): Draft | Promise<Draft> => {
      const requirements = gather(plan, library)
      const withAll = (known: readonly Requirement[]): Draft | Promise<Draft> => {
        const make = ({ grants, values, commands }: Granted): Draft => {
          const means = { library, sandboxHost, requirements: known, argv, grants, values, ...fixed }
          return commands.size === 0
            ? draftCall(plan, request, means)
            : draftUnsettled(plan, request, means, { commands, secretCommands })
        }
        const granted = grantedTo(plan, request.principal)
        return granted instanceof Promise ? granted.then(make) : make(granted)
      }
      return requirements instanceof Promise ? requirements.then(withAll) : withAll(requirements)
    }
    const isHeld =
      withFloor(plan.sandbox, request.sandbox ?? null) !== null ||
      ((request.guardsOwn ?? null) !== null && mayRunUnvouched(plan))
    const host = isHeld ? subprocess.sandbox() : null
    const library = findLibrary(plan.items, request.spaceRoot)
    const argv = needsArgv(plan) ? argvPolicies() : NO_POLICIES
    return library instanceof Promise || host instanceof Promise || argv instanceof Promise
      ? Promise.all([library, host, argv]).then((all) => draft(...all))
      : draft(library, host, argv)
  }
}

function needsArgv({ effect }: Plan): boolean {
  return effect.kind === 'line' || (effect.kind === 'subprocess' && effect.command.hasArgvPolicy)
}
