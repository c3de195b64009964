import { KiwiError } from '../../shared/errors.ts'
import type { Claim } from '../approvals.ts'
import type { Connection } from './connection.ts'

/** Called inside the transaction that records the decision: of all who come with one approval, one gets it. */
export function createUseUp(connection: Connection): (claim: Claim) => void {
  const update = connection.prepare(
    `UPDATE approvals SET state = 'used', used_at = ?
     WHERE id = ? AND call_hash = ? AND mac = ? AND state = 'approved'`,
  )
  return ({ approval, call_hash, mac, used_at }) => {
    if (update.run(Math.trunc(used_at), approval, call_hash, mac) === 1) return
    throw new KiwiError(
      'APPROVAL_USED',
      `Cannot use the approval "${approval}": it is used up or withdrawn`,
      {
        details: { approval_id: approval, call_hash },
      },
    )
  }
}

export function isUsedUp(error: unknown): boolean {
  return error instanceof KiwiError && error.code === 'APPROVAL_USED'
}
