import type { ServerEvent, ServerEventBus } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { Meta } from '../meta/meta.ts'
import type { JsonObject } from '../shared/json.ts'
import type { Described } from './passthrough-leg.ts'

/** What a server tells beside its answers, for as long as somebody hears it. */
export interface Notices {
  /** Gives back how to hear no more. */
  hear(listener: Listener): () => void
  /** Resources whose changes somebody wants to hear of. */
  watch(uris: readonly string[]): void
  /** The same, for clients of the newer era that listen over HTTP. */
  readonly bus: ServerEventBus
  close(): void
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

export function openNotices({ open, described, listen, send }: NoticeMeans): Notices {
  const listeners = new Set<Listener>()
  const watched = new Set<string>()
  let hearing: AbortController | null = null

  const tell: Listener = (method, params) => {
    for (const listener of listeners) listener(method, params)
  }

  /** What was lost while the server was gone may have changed. */
  const tellAll = ({ capabilities }: Described): void => {
    for (const list of LISTS) {
      if (declares(capabilities, list, 'listChanged')) tell(`notifications/${list}/list_changed`, {})
    }
  }

  const begin = async (signal: AbortSignal): Promise<void> => {
    const server = await described()
    if (server === null || signal.aborted) return
    const { key, era, capabilities } = server
    const { onNotice } = await open()
    const end = onNotice((notice) => {
      if (notice.key !== key) return
      if (notice.method !== 'kiwi/restarted') return tell(notice.method, notice.params)
      tellAll(server)
      restart()
    })
    signal.addEventListener('abort', end)
    if (era === 'legacy') return
    // Of its tools the connection itself hears.
    const notifications = {
      ...(declares(capabilities, 'prompts', 'listChanged') ? { promptsListChanged: true } : {}),
      ...(declares(capabilities, 'resources', 'listChanged') ? { resourcesListChanged: true } : {}),
      ...(watched.size > 0 ? { resourceSubscriptions: [...watched] } : {}),
    }
    if (Object.keys(notifications).length > 0) await listen({ notifications }, tell, signal)
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

  const hear = (listener: Listener): (() => void) => {
    listeners.add(listener)
    if (hearing === null) start()
    return () => {
      listeners.delete(listener)
      if (listeners.size > 0) return
      watched.clear()
      stop()
    }
  }

  return {
    hear,
    watch(uris) {
      const added = uris.filter((uri) => !watched.has(uri)).slice(0, MOST_WATCHED - watched.size)
      if (added.length === 0) return
      for (const uri of added) watched.add(uri)
      void described().then((server) => {
        if (server?.era === 'legacy') for (const uri of added) send('resources/subscribe', { uri })
        else if (hearing !== null) restart()
      })
    },
    bus: {
      // Everything comes from the server behind.
      publish() {},
      subscribe: (listener) =>
        hear((method, params) => {
          const event = eventOf(method, params)
          if (event !== null) listener(event)
        }),
    },
    close() {
      listeners.clear()
      stop()
    },
  }
}

function declares(capabilities: JsonObject, list: string, what: string): boolean {
  return z.looseObject({ [what]: z.literal(true) }).safeParse(capabilities[list]).success
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
      return { kind: 'resource_updated', uri: String(params['uri'] ?? '') }
    default:
      return null
  }
}
