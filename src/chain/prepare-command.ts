import type { Command } from '../primitives/subprocess/command.ts'
import type { Watch } from '../shared/progress.ts'
import type { CommandDraft } from './draft-command.ts'
import type { Bundle } from './files-as-read.ts'
import type { PerformMeans } from './perform-means.ts'
import type { Plan } from './plan.ts'

/** Puts on disk what the program needs: what is built may need the tool's files, or hold them. */
export async function prepareCommand(
  plan: Plan,
  effect: CommandDraft,
  { workFolders, environments }: PerformMeans,
  watch: Watch,
): Promise<Command> {
  const { environment, workRoot } = effect
  const place = async (): Promise<string | null> =>
    plan.hasFiles ? workFolders.prepare(plan.item, workRoot) : null
  const early = environment?.holdsFiles === true ? null : await place()
  const prepared = async (bundle: Bundle | null): Promise<string | null> =>
    bundle === null ? null : workFolders.prepare(bundle)
  const runtimeFolder = await prepared(effect.runtime)
  if (environment !== null)
    await environments.prepare(environment, { workFolder: early, runtimeFolder }, watch)
  return effect.inFolders({
    workFolder: environment?.holdsFiles === true ? await place() : early,
    runtimeFolder,
    libraryFolder: await prepared(effect.library),
  })
}
