import { dirname, join } from 'node:path'
import type { Draft } from '../chain/draft.ts'
import type { JsonObject } from '../shared/json.ts'
import { statOf } from '../spaces/disk.ts'

/** For a call that changes things where git could keep them: that a commit of its own beforehand is a good idea. */
export function checkpointHint({ plan, isReadOnly }: Draft, projectPath: string | null): JsonObject {
  const isChanging = plan.item.manifest.mutates_state === true && !isReadOnly
  if (!isChanging || projectPath === null || !isInRepository(projectPath)) return {}
  return {
    checkpoint_recommended: true,
    checkpoint_hint:
      'This call changes things. Before the next step run the tool git.checkpoint, or load the directive git_checkpoint and follow it.',
  }
}

function isInRepository(folder: string): boolean {
  if (statOf(join(folder, '.git')) !== null) return true
  const above = dirname(folder)
  return above !== folder && isInRepository(above)
}
