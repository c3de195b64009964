import type { Server } from '@modelcontextprotocol/server'
import type { Meta } from '../meta/meta.ts'
import type { Clock } from '../shared/clock.ts'
import type { JsonObject } from '../shared/json.ts'
import type { Notices } from './passthrough-notices.ts'

export type List = 'prompts' | 'resources'

/** Tells clients that what they were shown is different now. */
export interface Changes extends Notices {
  /** A list is about to be shown: from now on it is told when it changes. */
  begin(list: List): Promise<void>
  /** No longer tells of a resource. */
  forget(uri: string): void
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
const TICK_MS = 1000
/** Of the time between two looks: many files take long, and are looked at less often. */
const LOOK_SHARE = 20

export function openChanges({ open, project, clock }: ChangeMeans): Changes {
  const listeners = new Set<Parameters<Notices['hear']>[0]>()
  /** What was shown last; null before anybody looked. */
  const marks = new Map<List, string | null>()
  const watched = new Map<string, string | null | undefined>()
  let generation: number | null = null
  let seenAt: string | null = null
  let attending = 0
  let timer: NodeJS.Timeout | null = null
  let isClosed = false
  let isGlancing = false
  let turn: Promise<unknown> = Promise.resolve()

  const tell = (method: string, params: JsonObject): void => {
    for (const listener of listeners) listener(method, params)
  }
  /** `isAnew` when there is something to be seen for the first time. */
  const look = async (isFresh: boolean, isAnew: boolean): Promise<void> => {
    if (isClosed) return
    const { lookOut } = await open()
    const at = project()
    const after = isAnew || at !== seenAt ? null : generation
    const seen = await lookOut({ uris: [...watched.keys()], after, isFresh }, at)
    if (seen === null) return
    generation = seen.generation
    seenAt = at
    for (const list of LISTS) {
      const before = marks.get(list)
      if (before === undefined) continue
      marks.set(list, seen[list])
      if (before !== null && before !== seen[list]) tell(`notifications/${list}/list_changed`, {})
    }
    for (const [uri, hash] of seen.read) {
      if (!watched.has(uri)) continue
      const before = watched.get(uri)
      watched.set(uri, hash)
      if (before !== undefined && before !== hash) tell('notifications/resources/updated', { uri })
    }
  }
  /** One after the other, so that each compares with what the one before has seen. What cannot be looked at is not told. */
  const inTurn = (isFresh: boolean, isAnew = false): Promise<void> => {
    const mine = turn.then(() => look(isFresh, isAnew)).catch(() => undefined)
    turn = mine
    return mine
  }
  const isAwaited = async (): Promise<boolean> =>
    attending > 0 || watched.size > 0 || (marks.size > 0 && (await open()).config.watch)

  const tick = async (): Promise<void> => {
    const started = clock.monotonic()
    await inTurn(true)
    schedule(Math.max(TICK_MS, LOOK_SHARE * (clock.monotonic() - started)))
  }
  const schedule = (delay = TICK_MS): void => {
    if (timer !== null) clearTimeout(timer)
    timer = setTimeout(() => {
      timer = null
      if (isClosed) return
      isAwaited()
        .then((isStill) => (isStill ? tick() : undefined))
        .catch(() => undefined)
    }, delay)
    timer.unref()
  }
  const start = (): void => {
    if (timer === null && !isClosed) schedule()
  }

  return {
    get watching() {
      return watched.size
    },
    async begin(list) {
      if (marks.has(list)) return
      marks.set(list, null)
      await inTurn(false, true)
      start()
    },
    async watch(uris) {
      const added = uris.filter((uri) => !watched.has(uri)).slice(0, MOST_WATCHED - watched.size)
      if (added.length === 0) return
      for (const uri of added) watched.set(uri, undefined)
      await inTurn(false, true)
      start()
    },
    forget: (uri) => void watched.delete(uri),
    attend() {
      attending += 1
      start()
      return () => {
        attending -= 1
        if (attending === 0) watched.clear()
      }
    },
    glance() {
      if (isGlancing || (marks.size === 0 && watched.size === 0)) return
      isGlancing = true
      void inTurn(false).then(() => (isGlancing = false))
    },
    hear(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    close() {
      isClosed = true
      listeners.clear()
      if (timer !== null) clearTimeout(timer)
    },
  }
}

/** For somebody who listens: all that there is to tell, found by looking at the files meanwhile. */
export function hearAll(changes: Changes, listener: Parameters<Notices['hear']>[0]): () => void {
  const leave = changes.attend()
  const end = changes.hear(listener)
  for (const list of LISTS) void changes.begin(list)
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
