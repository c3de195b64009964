import { dirname, join } from 'node:path'
import type { JsonObject } from '../shared/json.ts'
import { statOf } from '../spaces/disk.ts'
import type { Manifest } from '../spaces/manifest.ts'

/** For a tool that changes things where git could keep them: that a commit of its own beforehand is a good idea. */
export function checkpointHint({ mutates_state }: Manifest, projectPath: string | null): JsonObject {
  if (mutates_state !== true || projectPath === null || !isInRepository(projectPath)) return {}
  return {
    checkpoint_recommended: true,
    checkpoint_hint: 'This tool changes things. Run the directive git_checkpoint before the next step.',
  }
}

function isInRepository(folder: string): boolean {
  if (statOf(join(folder, '.git')) !== null) return true
  const above = dirname(folder)
  return above !== folder && isInRepository(above)
}
