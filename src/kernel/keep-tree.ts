import type { Call } from './call.ts'
import type { Kept } from './kept.ts'
import { newCheckpoint, notCovered, nothingKept, uncoveredDetails } from './kept.ts'
import type { Means } from './means.ts'

/** Keeps what stands below a project around a call that may change any of it. */
export async function keepTree(call: Call, root: string, { store, chain, clock }: Means): Promise<Kept> {
  const { callId } = call.ticket
  const begun = await chain.trees.begin(root, callId)
  if ('why' in begun) return nothingKept(begun.why)
  const startedAt = clock.monotonic()
  await store.undo.open(newCheckpoint(call, 'tree', clock.now()), [], [])
  return {
    warnings: notCovered(begun.skipped),
    async finish() {
      const ranMs = Math.round(clock.monotonic() - startedAt)
      const { changes, bytes, skipped } = await begun.finish()
      const isKept = changes.length > 0
      const left = uncoveredDetails([...new Set([...begun.skipped, ...skipped])])
      const details = { ...left, ran_ms: ranMs, named: namedBy(call) }
      if (isKept) await store.undo.close(callId, changes, { bytes, details })
      else await store.undo.discard(callId)
      return { isKept, warnings: notCovered(skipped) }
    },
  }
}

/** What the call itself says it writes. */
function namedBy({ work }: Call): readonly string[] {
  return (work?.demands ?? []).flatMap((demand) => (demand.op === 'write' ? [demand.path] : []))
}
