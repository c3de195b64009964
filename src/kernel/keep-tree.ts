import { relative, sep } from 'node:path'
import type { Oddities } from '../spaces/oddity.ts'
import { nameOf, oddChanges, oddityAt } from '../spaces/oddity.ts'
import type { Call } from './call.ts'
import type { Kept } from './kept.ts'
import { newCheckpoint, notCovered, nothingKept, uncoveredDetails } from './kept.ts'
import type { Means } from './means.ts'

/** Keeps what stands below a project around a call that may change any of it. */
export async function keepTree(call: Call, root: string, { store, chain, clock }: Means): Promise<Kept> {
  const { callId } = call.ticket
  const begun = await chain.trees.begin(root, callId)
  if ('why' in begun) return nothingKept(begun.why)
  const apart = apartOf(call, root, begun)
  const before = stampsOf(apart)
  const startedAt = clock.monotonic()
  await store.undo.open(newCheckpoint(call, 'tree', clock.now()), [], [])
  return {
    warnings: notCovered(begun.skipped),
    async finish() {
      const ranMs = Math.round(clock.monotonic() - startedAt)
      const { changes, bytes, skipped: found } = await begun.finish()
      const skipped = [...found, ...lost(before, stampsOf(apart))]
      const isKept = changes.length > 0
      const left = uncoveredDetails([...new Set([...begun.skipped, ...skipped])])
      const details = { ...left, ran_ms: ranMs, named: namedBy(call) }
      if (isKept) await store.undo.close(callId, changes, { bytes, details })
      else await store.undo.discard(callId)
      return { isKept, warnings: notCovered(skipped) }
    },
  }
}

/** What the call says it writes and nothing is kept of, by the names it is told by. */
function apartOf(
  call: Call,
  root: string,
  { whyNot }: { readonly whyNot: (path: string) => string | null },
): ReadonlyMap<string, { readonly path: string; readonly why: string }> {
  return new Map(
    namedBy(call).flatMap((path) => {
      const why = whyNot(path)
      return why === null ? [] : [[nameOf(shortOf(path, root)), { path, why }] as const]
    }),
  )
}

function shortOf(path: string, root: string): string {
  return path.startsWith(`${root}${sep}`) ? relative(root, path) : path
}

function stampsOf(apart: ReturnType<typeof apartOf>): Oddities {
  return new Map(
    Array.from(apart).flatMap(([name, { path, why }]) => {
      const found = oddityAt(path, why)
      return found === null ? [] : [[name, found] as const]
    }),
  )
}

/** What a call made can be removed by whoever made it; what it took away cannot be had again. */
function lost(before: Oddities, after: Oddities): readonly string[] {
  return oddChanges(before, new Map(Array.from(after).filter(([name]) => before.has(name))))
}

/** What the call itself says it writes. */
function namedBy({ work }: Call): readonly string[] {
  return (work?.demands ?? []).flatMap((demand) => (demand.op === 'write' ? [demand.path] : []))
}
