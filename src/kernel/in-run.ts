import { ItemName } from '../shared/ids.ts'
import type { Maybe } from '../shared/maybe.ts'
import { after } from '../shared/maybe.ts'
import type { Ticket, Understood } from './call.ts'
import type { Run, Runs } from './runs.ts'

/** A call of a session that stays inside of a run is a call of that run, whether or not it says so. */
export function heldTicket(ticket: Ticket, { heldIn }: Pick<Runs, 'heldIn'>): Maybe<Ticket> {
  const { runId, caller } = ticket
  if (runId !== undefined || caller.kind !== 'agent') return ticket
  return after(heldIn(caller), (held) => (held === null ? ticket : { ...ticket, runId: held }))
}

/** What a request means within a run, whose directive may have given names of its own to servers. */
export function inRun(understood: Understood, run: Run | null): Understood {
  const { wish } = understood
  if (run === null || wish.kind !== 'run' || wish.itemType !== 'tool') return understood
  const dot = wish.ref.name.indexOf('.')
  const server = run.aliases.get(wish.ref.name.slice(0, Math.max(0, dot)))
  const name = ItemName.safeParse(`${server}${wish.ref.name.slice(dot)}`)
  if (server === undefined || !name.success) return understood
  return { ...understood, wish: { ...wish, ref: { ...wish.ref, name: name.data } } }
}
