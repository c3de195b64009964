import type { HarnessPlaces, HarnessSource } from '../../spaces/harness.ts'
import { harnessSources, harnessStamp, readHarness } from '../../spaces/harness.ts'
import { realPathOf } from '../../spaces/disk.ts'
import { compileHarness } from './compile-harness.ts'
import { harnessFaults } from './harness-faults.ts'
import { layerConflicts } from './layer-conflicts.ts'
import type { LayerMeans } from './layer.ts'
import { compileLayer } from './layer.ts'
import type { OwnFiles } from './machine-layer.ts'
import { machineLayer } from './machine-layer.ts'
import type { Policy, PolicyOf } from './policy.ts'
import { settingsOf } from './settings.ts'

interface PolicyMeans extends LayerMeans {
  readonly own: OwnFiles
  readonly places: HarnessPlaces
  readonly home: string
}

const MOST_KEPT = 200

/** What was decided is read when a file changed, and at hand otherwise. */
export function openPolicy(means: PolicyMeans): PolicyOf {
  const kept = new Map<
    string | null,
    { readonly stamps: string; readonly policy: Policy | Promise<Policy> }
  >()
  const build = createBuild(means)
  return (projectPath) => {
    const sources = harnessSources(means.places, projectPath)
    const found = sources.map(harnessStamp)
    const stamps = found.join(' ')
    const known = kept.get(projectPath)
    if (known?.stamps === stamps) return known.policy
    const building = build(
      sources.filter((_, at) => found[at] !== null),
      projectPath,
    )
    if (kept.size >= MOST_KEPT) kept.clear()
    kept.set(projectPath, { stamps, policy: building })
    building.then(
      (policy) => kept.set(projectPath, { stamps, policy }),
      () => kept.delete(projectPath),
    )
    return building
  }
}

function createBuild(means: PolicyMeans) {
  const machine = machineLayer(means.own)
  return async (sources: readonly HarnessSource[], project: string | null): Promise<Policy> => {
    const files = await Promise.all(sources.map(readHarness))
    const context = {
      home: realPathOf(means.home) ?? means.home,
      projectPath: project === null ? null : (realPathOf(project) ?? project),
    }
    const faults = await Promise.all(
      files.map(async (file) =>
        (await harnessFaults(file, context, means)).map((fault) => ({ file: file.path, ...fault })),
      ),
    )
    const settings = settingsOf(files)
    const isConfined = settings.sandbox !== null && settings.sandbox.level !== 'off'
    const data = files.flatMap(({ content, ...file }, at) =>
      content === null || faults[at]?.length !== 0
        ? []
        : compileHarness({ ...file, content }, { ...context, isConfined }),
    )
    const layers = await Promise.all(data.map((layer) => compileLayer(layer, true, means)))
    return {
      ...settings,
      layers: [machine, ...layers],
      faults: faults.flat(),
      conflicts: layerConflicts(files, context),
    }
  }
}
