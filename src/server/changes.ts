import type { Server } from '@modelcontextprotocol/server'
import type { Meta } from '../meta/meta.ts'
import type { Outlook } from '../meta/surfaces/outlook.ts'
import type { Clock } from '../shared/clock.ts'
import { endedWithin } from '../shared/ended-within.ts'
import type { Notices } from './passthrough-notices.ts'
import { openTicking } from './ticking.ts'

export type List = 'prompts' | 'resources'
type Listener = Parameters<Notices['hear']>[0]

/** Tells clients that what they were shown is different now. */
export interface Changes extends Notices {
  /** A list is about to be shown: from now on it is told when it changes. */
  begin(list: List): Promise<void>
  /** Somebody will hear of the lists and of these resources: what comes after they are told so is a change. */
  expect(uris: readonly string[]): Promise<void>
  readonly watching: number
  /** Somebody waits for nothing else: the files are looked at until the end that is given back. */
  attend(): () => void
  /** After a call: what it has seen on the way is compared, and nothing is looked at for it. */
  glance(): void
}

interface ChangeMeans {
  readonly open: () => Promise<Pick<Meta, 'lookOut'> & { readonly config: { readonly watch: boolean } }>
  /** The project of whoever is told. */
  readonly project: () => string | null
  readonly clock: Clock
}

const LISTS: readonly List[] = ['prompts', 'resources']
export const MOST_WATCHED = 1000
/** For so long at most whoever listens waits for the first look. */
const FIRST_LOOK_MS = 5000

/** What was shown, as it was then; null before anybody looked. */
interface Seen {
  readonly lists: Map<List, string | null>
  readonly resources: Map<string, string | null | undefined>
}

export function openChanges({ open, project, clock }: ChangeMeans): Changes {
  const listeners = new Set<Listener>()
  const seen: Seen = { lists: new Map(), resources: new Map() }
  const { lists, resources } = seen
  let last: { readonly generation: string; readonly at: string | null } | null = null
  let attending = 0
  let isGlancing = false
  let turn: Promise<unknown> = Promise.resolve()

  const tell: Listener = (method, params) => {
    for (const listener of listeners) listener(method, params)
  }
  const look = async (isFresh: boolean, isAnew: boolean): Promise<void> => {
    const meta = await open()
    const at = project()
    const after = isAnew || last?.at !== at ? null : last.generation
    const now = await meta.lookOut({ uris: [...resources.keys()], after, isFresh }, at)
    if (now === null) return
    last = { generation: now.generation, at }
    compare(seen, now, tell)
  }
  /**
   * One after the other, so that each compares with what the one before has seen; what cannot be looked at is not told.
   * `isAnew` when there is something to be seen for the first time.
   */
  const inTurn = (isFresh: boolean, isAnew = false): Promise<void> => {
    const mine = turn.then(() => look(isFresh, isAnew)).catch(() => undefined)
    turn = mine
    return mine
  }
  const ticking = openTicking({
    isAwaited: async () =>
      attending > 0 || resources.size > 0 || (lists.size > 0 && (await open()).config.watch),
    tick: () => inTurn(true),
    clock,
  })

  const see = async (shown: readonly List[], uris: readonly string[]): Promise<void> => {
    if (!add(seen, shown, uris)) return
    await inTurn(false, true)
    ticking.start()
  }

  return {
    get watching() {
      return resources.size
    },
    begin: (list) => see([list], []),
    watch: (uris) => see([], uris),
    async expect(uris) {
      await endedWithin(inTurn(true, add(seen, LISTS, uris)), FIRST_LOOK_MS)
      ticking.start()
    },
    unwatch: async (uris) => uris.forEach((uri) => resources.delete(uri)),
    attend() {
      attending += 1
      ticking.start()
      return () => {
        attending -= 1
        if (attending === 0) resources.clear()
      }
    },
    glance() {
      if (isGlancing || (lists.size === 0 && resources.size === 0)) return
      isGlancing = true
      void inTurn(false).then(() => (isGlancing = false))
    },
    hear(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    close() {
      listeners.clear()
      lists.clear()
      resources.clear()
      ticking.close()
    },
  }
}

/** Whether any of them is to be seen for the first time. */
function add({ lists, resources }: Seen, shown: readonly List[], uris: readonly string[]): boolean {
  const listed = shown.filter((list) => !lists.has(list))
  const added = uris.filter((uri) => !resources.has(uri)).slice(0, MOST_WATCHED - resources.size)
  for (const list of listed) lists.set(list, null)
  for (const uri of added) resources.set(uri, undefined)
  return listed.length > 0 || added.length > 0
}

function compare({ lists, resources }: Seen, now: Outlook, tell: Listener): void {
  for (const [list, before] of lists) {
    lists.set(list, now[list])
    if (before !== null && before !== now[list]) tell(`notifications/${list}/list_changed`, {})
  }
  for (const [uri, hash] of now.read) {
    if (!resources.has(uri)) continue
    const before = resources.get(uri)
    resources.set(uri, hash)
    if (before !== undefined && before !== hash) tell('notifications/resources/updated', { uri })
  }
}

/** For somebody who listens, and was expected: all that there is to tell, found by looking at the files meanwhile. */
export function hearAll(changes: Changes, listener: Listener): () => void {
  const leave = changes.attend()
  const end = changes.hear(listener)
  return () => {
    end()
    leave()
  }
}

/** For a client that stays connected; what was opened for it alone is closed with it. */
export function tellWhileOpen(server: Server, changes: Changes, isOwn: boolean): void {
  const end = changes.hear((method, params) => {
    server.notification({ method, params: { ...params } }).catch(() => undefined)
  })
  const before = server.onclose
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK has this one place and no events
  server.onclose = () => {
    end()
    if (isOwn) changes.close()
    before?.()
  }
}
