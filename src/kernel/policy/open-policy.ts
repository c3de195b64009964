import type { ArgvPolicies } from '../../chain/shell/argv-policy.ts'
import type { Glance } from '../../spaces/harness-glance.ts'
import { harnessGlance } from '../../spaces/harness-glance.ts'
import type { Harness, HarnessPlaces, HarnessSource } from '../../spaces/harness.ts'
import { harnessSources, harnessStamp, readHarness } from '../../spaces/harness.ts'
import { realPathOf } from '../../spaces/disk.ts'
import type { HarnessContext } from './compile-harness.ts'
import { compileHarness } from './compile-harness.ts'
import { harnessFaults } from './harness-faults.ts'
import { layerConflicts } from './layer-conflicts.ts'
import type { LayerMeans } from './layer.ts'
import { compileLayer } from './layer.ts'
import type { OwnFiles } from './machine-layer.ts'
import { machineLayer } from './machine-layer.ts'
import type { Policy, PolicyOf, SandboxFloor } from './policy.ts'
import { settingsOf } from './settings.ts'

interface PolicyMeans extends LayerMeans {
  readonly own: OwnFiles
  readonly places: HarnessPlaces
  readonly home: string
  /** Whether programs can be held to their files on this machine. */
  readonly canHold: () => Promise<boolean>
}

interface Where {
  readonly projectPath: string | null
  readonly sessionProject: string | null
}

interface Kept {
  readonly stamps: string
  /** Whether it can still be believed; null where only a whole look tells. */
  readonly glance: Glance | null
  readonly policy: Policy | Promise<Policy>
}

const MOST_KEPT = 200

/** What was decided is read when a file changed, and at hand otherwise. */
export function openPolicy(means: PolicyMeans): PolicyOf {
  const kept = new Map<string, Kept>()
  const build = createBuild(means)
  return (projectPath, session = null) => {
    const sessionProject = session === projectPath ? null : session
    const key = `${projectPath ?? ''}\0${sessionProject ?? ''}`
    const known = kept.get(key)
    if (known?.glance?.() === true) return known.policy
    const projects = [sessionProject, projectPath].filter((path) => path !== null)
    const glance = harnessGlance(means.places, projects)
    const sources = harnessSources(means.places, projects)
    const found = sources.map(harnessStamp)
    const stamps = found.join(' ')
    if (known?.stamps === stamps) {
      kept.set(key, { ...known, glance })
      return known.policy
    }
    const building = build(
      sources.filter((_, at) => found[at] !== null),
      { projectPath, sessionProject },
    )
    if (kept.size >= MOST_KEPT) kept.clear()
    kept.set(key, { stamps, glance, policy: building })
    building.then(
      (policy) => kept.set(key, { stamps, glance, policy }),
      () => kept.delete(key),
    )
    return building
  }
}

function createBuild(means: PolicyMeans) {
  const machine = machineLayer(means.own)
  return async (
    sources: readonly HarnessSource[],
    { projectPath, sessionProject }: Where,
  ): Promise<Policy> => {
    const files = await Promise.all(sources.map(readHarness))
    const home = real(means.home)
    // To a file of a project, that is the project.
    const contextOf = ({ within }: HarnessSource): HarnessContext =>
      within === null
        ? {
            home,
            projectPath: projectPath === null ? null : real(projectPath),
            sessionProject: sessionProject === null ? null : real(sessionProject),
          }
        : { home, projectPath: within, sessionProject: null }
    const faults = await Promise.all(
      files.map(async (file) =>
        (await harnessFaults(file, contextOf(file), means)).map((fault) => ({ file: file.path, ...fault })),
      ),
    )
    const settings = settingsOf(files, await policiesFor(files, means))
    const isConfined = await confines(settings.sandbox, means)
    const data = files.flatMap(({ content, ...file }, at) =>
      content === null || faults[at]?.length !== 0
        ? []
        : compileHarness({ ...file, content }, { ...contextOf(file), isConfined }),
    )
    const layers = await Promise.all(data.map((layer) => compileLayer(layer, true, means)))
    return {
      ...settings,
      layers: [machine, ...layers],
      faults: faults.flat(),
      conflicts: layerConflicts(files, {
        home,
        projectPath: projectPath === null ? null : real(projectPath),
      }),
    }
  }
}

/** Where programs are counted, data says which start others. */
async function policiesFor(files: readonly Harness[], { argvPolicies }: PolicyMeans): Promise<ArgvPolicies> {
  const areCounted = files.some(({ content }) => content?.internal_tools.shell?.rate_limits !== undefined)
  return areCounted ? (await argvPolicies()).policies : new Map()
}

/** What is asked for counts only where it can be had, or nothing starts without it. */
async function confines(floor: SandboxFloor | null, { canHold }: PolicyMeans): Promise<boolean> {
  if (floor === null || floor.level === 'off') return false
  return floor.isRequired || (await canHold())
}

function real(path: string): string {
  return realPathOf(path) ?? path
}
