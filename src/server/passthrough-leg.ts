import type { Server } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { Client, RelayRequest } from '../meta/meta.ts'
import { errorReply } from '../meta/reply.ts'
import type { JsonObject } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import type { Notice } from '../shared/progress.ts'
import type { Reply } from '../shared/reply.ts'
import type { Endpoint } from './build-server.ts'
import type { Notices } from './passthrough-notices.ts'
import { openNotices } from './passthrough-notices.ts'

/** The way to a server for clients of one era: one for all of the newer, one for each session of the older. */
export interface Leg {
  readonly era: 'legacy' | 'modern'
  readonly session: string
  /** What the server says of itself, asked for once; or the reply that says why nothing can be known. */
  describe(): Promise<Description>
  /** Never throws. */
  relay(request: LegRequest, client: Client, signal?: AbortSignal): Promise<Reply>
  /** Tells the server what a client told. */
  forward(method: string): void
  /** The schema of a tool's arguments, of those that were listed last. */
  schemaOf(tool: string): JsonObject | undefined
  /** Passes on to a connected client what the server tells beside its answers, until it is closed. */
  attach(server: Server): void
  /** For clients that are not connected and listen. */
  readonly notices: Notices
}

type LegRequest = Pick<RelayRequest, 'method' | 'params' | 'passesInput'>

const DescribedServer = z.looseObject({
  era: z.enum(['legacy', 'modern']),
  capabilities: z.record(z.string(), z.json()),
  serverInfo: z.record(z.string(), z.json()),
  instructions: z.string().nullable(),
  key: z.string(),
})
export type Described = z.infer<typeof DescribedServer>
export type Description =
  | { readonly isKnown: true; readonly server: Described }
  | { readonly isKnown: false; readonly why: Reply }

const Tools = z.looseObject({ name: z.string(), inputSchema: z.record(z.string(), z.json()) })

export function openLeg(endpoint: Endpoint, server: string, era: Leg['era']): Leg {
  const session = endpoint.newSession()
  const schemas = new Map<string, JsonObject>()
  let described: Promise<Description> | null = null
  /** A server that speaks only the newer era is spoken to in that. */
  let isOlder = era === 'legacy'

  const self: Client = {
    principal: endpoint.principal,
    session,
    kind: 'agent',
    defaultProject: () => Promise.resolve(endpoint.folder),
  }

  const relay: Leg['relay'] = async (request, client, signal) => {
    try {
      const meta = await endpoint.open()
      const reply = await meta.relay({ ...request, server, isOlder }, client, signal)
      if (request.method === 'tools/list' && reply.status === 'success') noteSchemas(reply.data)
      return reply
    } catch (error) {
      return errorReply(error, { call_id: 'unrecorded', duration_ms: 0 })
    }
  }

  const noteSchemas = (data: unknown): void => {
    const { tools } = isJsonObject(data) ? data : {}
    for (const tool of Array.isArray(tools) ? tools : []) {
      const read = Tools.safeParse(tool)
      if (read.success) schemas.set(read.data.name, read.data.inputSchema)
    }
  }

  const ask = async (): Promise<Description> => {
    const reply = await relay({ method: null, params: {}, passesInput: true }, self)
    if (reply.error?.code === 'UPSTREAM_UNAVAILABLE' && isOlder) {
      isOlder = false
      return ask()
    }
    const read = DescribedServer.safeParse(reply.data)
    if (reply.status !== 'success' || !read.success) return { isKnown: false, why: reply }
    if (era === 'modern' && isJsonObject(read.data.capabilities['tools']))
      await relay({ method: 'tools/list', params: {}, passesInput: true }, self)
    return { isKnown: true, server: read.data }
  }

  const describe = (): Promise<Description> => {
    described ??= ask().then((result) => {
      if (!result.isKnown) described = null
      return result
    })
    return described
  }

  /** What was opened for one session goes with it. */
  const release = async (): Promise<void> => {
    const known = await described
    const meta = await endpoint.open()
    if (known?.isKnown === true) await meta.release(known.server.key)
  }

  const notices = openNotices({
    open: endpoint.open,
    async described() {
      const description = await describe()
      return description.isKnown ? description.server : null
    },
    async listen(params, tell, signal) {
      const client = { ...self, tell: (notice: Notice) => tell(notice.method, notice.params) }
      await relay({ method: 'subscriptions/listen', params, passesInput: true }, client, signal)
    },
    send: (method, params) => void relay({ method, params, passesInput: true }, self),
  })

  return {
    era,
    session,
    describe,
    relay,
    forward: (method) => void relay({ method, params: {}, passesInput: true }, self),
    schemaOf: (tool) => schemas.get(tool),
    notices,
    attach(connected) {
      const end = notices.hear((method, params) => {
        connected.notification({ method, params: { ...params } }).catch(() => undefined)
      })
      const before = connected.onclose
      connected.onclose = () => {
        end()
        if (era === 'legacy') release().catch(() => undefined)
        before?.()
      }
    },
  }
}
