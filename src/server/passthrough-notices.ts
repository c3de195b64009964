import type { ServerEvent, ServerEventBus } from '@modelcontextprotocol/server'
import type { Meta } from '../meta/meta.ts'
import type { JsonObject } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import { textOf } from '../shared/template.ts'
import type { Described } from './passthrough-leg.ts'

/** What a server tells beside its answers, for as long as somebody hears it. */
export interface Notices {
  /** Gives back how to hear no more. */
  hear(listener: Listener): () => void
  /** Resources whose changes somebody wants to hear of. */
  watch(uris: readonly string[]): Promise<void>
  /** Nobody does any more; only where a server is listened to. */
  unwatch(uris: readonly string[]): Promise<void>
  close(): void
}

/** Those of a server behind, which may be lost and come back. */
export interface ServerNotices extends Notices {
  /** A client of the older era has made the server remember something: it is told again when it was lost. */
  keep(method: string, params: JsonObject): void
}

type Listener = (method: string, params: JsonObject) => void

interface NoticeMeans {
  readonly open: () => Promise<Pick<Meta, 'onNotice'>>
  /** Null when nothing can be known of the server. */
  readonly described: () => Promise<Described | null>
  /** A request that stays open until `signal` ends it; `tell` hears what belongs to it. */
  readonly listen: (params: JsonObject, tell: Listener, signal: AbortSignal) => Promise<void>
  /** Sends a request whose answer nobody needs. */
  readonly send: (method: string, params: JsonObject) => void
}

const LISTS = ['tools', 'prompts', 'resources'] as const
const MOST_WATCHED = 1000

export function openNotices({ open, described, listen, send }: NoticeMeans): ServerNotices {
  const listeners = new Set<Listener>()
  const watched = new Set<string>()
  /** The level of the log that a server of the older era was told. */
  let level: JsonObject | null = null
  let hearing: AbortController | null = null

  const tell: Listener = (method, params) => {
    for (const listener of listeners) listener(method, params)
  }

  const begin = async (signal: AbortSignal): Promise<void> => {
    const server = await described()
    if (server === null || signal.aborted) return
    const { onNotice } = await open()
    const end = onNotice(({ key, method, params }) => {
      if (key !== server.key) return
      if (method !== 'kiwi/restarted') return tell(method, params)
      // What was missed while it was gone may have changed, and one that was started anew remembers nothing.
      for (const list of changing(server)) tell(`notifications/${list}/list_changed`, {})
      for (const uri of watched) {
        tell('notifications/resources/updated', { uri })
        if (server.era === 'legacy') send(SUBSCRIBE, { uri })
      }
      if (level !== null) send(SET_LEVEL, level)
      restart()
    })
    signal.addEventListener('abort', end)
    const wanted = server.era === 'modern' ? wantedOf(server, [...watched]) : {}
    if (Object.keys(wanted).length > 0) await listen({ notifications: wanted }, tell, signal)
  }

  const stop = (): void => {
    hearing?.abort()
    hearing = null
  }
  const start = (): void => {
    hearing = new AbortController()
    begin(hearing.signal).catch(() => undefined)
  }
  const restart = (): void => {
    stop()
    if (listeners.size > 0) start()
  }

  return {
    hear(listener) {
      listeners.add(listener)
      if (hearing === null) start()
      return () => {
        listeners.delete(listener)
        if (listeners.size > 0) return
        watched.clear()
        stop()
      }
    },
    async watch(uris) {
      const added = uris.filter((uri) => !watched.has(uri)).slice(0, MOST_WATCHED - watched.size)
      if (added.length === 0) return
      for (const uri of added) watched.add(uri)
      const server = await described()
      if (server?.era === 'legacy') for (const uri of added) send(SUBSCRIBE, { uri })
      else if (hearing !== null) restart()
    },
    async unwatch(uris) {
      const gone = uris.filter((uri) => watched.delete(uri))
      if (gone.length > 0 && hearing !== null) restart()
    },
    keep(method, params) {
      const uri = textOf(params['uri'] ?? '')
      if (method === SUBSCRIBE && watched.size < MOST_WATCHED) watched.add(uri)
      if (method === UNSUBSCRIBE) watched.delete(uri)
      if (method === SET_LEVEL) level = params
    },
    close() {
      listeners.clear()
      stop()
    },
  }
}

const SUBSCRIBE = 'resources/subscribe'
const UNSUBSCRIBE = 'resources/unsubscribe'
const SET_LEVEL = 'logging/setLevel'

/** The same for clients of the newer era that listen over HTTP: everything comes from the server behind. */
export function busOf(notices: Notices): ServerEventBus {
  return {
    publish() {},
    subscribe: (listener) =>
      notices.hear((method, params) => {
        const event = eventOf(method, params)
        if (event !== null) listener(event)
      }),
  }
}

/** The lists that it says it tells of. */
function changing({ capabilities }: Described): readonly string[] {
  return LISTS.filter((list) => {
    const declared = capabilities[list]
    return isJsonObject(declared) && declared['listChanged'] === true
  })
}

/** What a server of the newer era has to be asked for; of its tools the connection itself hears. */
function wantedOf(server: Described, uris: readonly string[]): JsonObject {
  const lists = changing(server).filter((list) => list !== 'tools')
  return {
    ...Object.fromEntries(lists.map((list) => [`${list}ListChanged`, true])),
    ...(uris.length === 0 ? {} : { resourceSubscriptions: uris }),
  }
}

function eventOf(method: string, params: JsonObject): ServerEvent | null {
  switch (method) {
    case 'notifications/tools/list_changed':
      return { kind: 'tools_list_changed' }
    case 'notifications/prompts/list_changed':
      return { kind: 'prompts_list_changed' }
    case 'notifications/resources/list_changed':
      return { kind: 'resources_list_changed' }
    case 'notifications/resources/updated':
      return { kind: 'resource_updated', uri: textOf(params['uri'] ?? '') }
    default:
      return null
  }
}
