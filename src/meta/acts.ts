import type { Wish } from '../kernel/call.ts'
import { parseItemRef } from '../shared/ids.ts'
import type { JsonObject } from '../shared/json.ts'
import { readItemType } from './arguments.ts'

/** A wish that no tool can express. */
export interface Act {
  /** Understood inside the gate: what is wrong with it is on record too. */
  readonly wish: () => Wish
  /** As it is recorded. */
  readonly operation: string
  readonly subject: string
  readonly parameters?: JsonObject
  /** The project to work in, where it is not the client's; null = none. */
  readonly projectPath?: string | null
  readonly isDryRun?: boolean
}

export interface RollbackOrder {
  readonly itemType: string
  readonly itemId: string
  readonly version: string
  readonly isDryRun: boolean
}

/** A person’s word for a project, or its end. */
export function trustAct(projectPath: string, isRevoked: boolean): Act {
  return {
    wish: () => ({ kind: 'trust', project: projectPath, isRevoked }),
    operation: isRevoked ? 'trust.revoke' : 'trust',
    subject: projectPath,
    // One that is gone can still be taken off the list.
    projectPath: isRevoked ? null : projectPath,
  }
}

export function rollbackAct(
  projectPath: string,
  { itemType, itemId, version, isDryRun }: RollbackOrder,
): Act {
  return {
    wish: () => ({
      kind: 'rollback',
      ref: parseItemRef(itemId, version),
      itemType: readItemType(itemType),
    }),
    operation: 'rollback',
    subject: itemId,
    parameters: { version },
    projectPath,
    isDryRun,
  }
}
