import type { Ticket } from './call.ts'
import type { Demand } from './policy/rule.ts'
import { realEntry } from './real-path.ts'

/** Files of items that are written or removed. Where an agent puts them is its choice, as with any other file. */
export function itemWrites(paths: readonly string[], { caller }: Pick<Ticket, 'caller'>): readonly Demand[] {
  const isChosen = caller.kind === 'agent'
  return paths.map((path) => ({ op: 'write', path: realEntry(path), isChosen, isItem: true }))
}
