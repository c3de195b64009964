import { dirname, join } from 'node:path'
import type { Draft } from '../chain/draft.ts'
import type { JsonObject } from '../shared/json.ts'
import { statOf } from '../spaces/disk.ts'

/** The tool that the hint names: of its own call it would say to do it again. */
const CHECKPOINT = 'git.checkpoint'

/** For a call that changes things where git could keep them: that a commit of its own beforehand is a good idea. */
export function checkpointHint({ plan, isReadOnly }: Draft, projectPath: string | null): JsonObject {
  const { id, manifest } = plan.item
  const isChanging = manifest.mutates_state === true && !isReadOnly && id !== CHECKPOINT
  if (!isChanging || projectPath === null || !isInRepository(projectPath)) return {}
  return {
    checkpoint_recommended: true,
    checkpoint_hint: `This call changes things. Before the next step run the tool ${CHECKPOINT}, or load the directive git_checkpoint and follow it.`,
  }
}

function isInRepository(folder: string): boolean {
  if (statOf(join(folder, '.git')) !== null) return true
  const above = dirname(folder)
  return above !== folder && isInRepository(above)
}
