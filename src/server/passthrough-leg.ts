import type { Server } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { Client } from '../meta/meta.ts'
import type { RelayRequest } from '../meta/relay.ts'
import { errorReply } from '../meta/reply.ts'
import type { JsonObject } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import type { Notice } from '../shared/progress.ts'
import type { Reply } from '../shared/reply.ts'
import type { Stop } from '../shared/stop.ts'
import type { Endpoint } from './build-server.ts'
import type { Notices, ServerNotices } from './passthrough-notices.ts'
import { openNotices } from './passthrough-notices.ts'

/** The way to a server for clients of one era: one for all of the newer, one for each session of the older. */
export interface Leg {
  readonly era: 'legacy' | 'modern'
  readonly session: string
  /** What the server says of itself, asked for once; or the reply that says why nothing can be known. */
  describe(): Promise<Description>
  /** Never throws. */
  relay(request: LegRequest, client: Client, signal?: Stop): Promise<Reply>
  /** Tells the server what a client told. */
  forward(method: string): void
  /** The schema of a tool's arguments, of those that were listed last. */
  schemaOf(tool: string): JsonObject | undefined
  /** Passes on to a connected client what the server tells beside its answers, until it is closed. */
  attach(server: Server): void
  /** For clients that are not connected and listen. */
  readonly notices: ServerNotices
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
type Description =
  | { readonly isKnown: true; readonly server: Described }
  | { readonly isKnown: false; readonly why: Reply }

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
    defaultProject: () => endpoint.folder,
  }

  const relay: Leg['relay'] = async (request, client, signal) => {
    try {
      const meta = await endpoint.open()
      const { method, params, passesInput } = request
      const reply = await meta.relay({ method, params, passesInput, server }, { isOlder, ...client }, signal)
      if (request.method === 'tools/list' && reply.status === 'success') noteSchemas(reply.data, schemas)
      return reply
    } catch (error) {
      return errorReply(error, { call_id: 'unrecorded', duration_ms: 0 })
    }
  }
  const send = (method: string | null, params: JsonObject = {}): Promise<Reply> =>
    relay({ method, params, passesInput: true }, self)

  const ask = async (): Promise<Description> => {
    const reply = await send(null)
    if (reply.error?.code === 'UPSTREAM_UNAVAILABLE' && isOlder) {
      isOlder = false
      return ask()
    }
    const read = DescribedServer.safeParse(reply.data)
    if (reply.status !== 'success' || !read.success) return { isKnown: false, why: reply }
    // Which arguments of a call stand in its headers as well, its schema says.
    if (era === 'modern' && isJsonObject(read.data.capabilities['tools'])) await send('tools/list')
    return { isKnown: true, server: read.data }
  }
  const describe = async (): Promise<Description> => {
    described ??= ask()
    const description = await described
    if (!description.isKnown) described = null
    return description
  }
  const known = async (): Promise<Described | null> => {
    const description = await describe()
    return description.isKnown ? description.server : null
  }

  const notices = openNotices({
    open: endpoint.open,
    described: known,
    async listen(params, tell, signal) {
      const client = { ...self, tell: (notice: Notice) => tell(notice.method, notice.params) }
      await relay({ method: 'subscriptions/listen', params, passesInput: true }, client, signal)
    },
    send: (method, params) => void send(method, params),
  })
  /** What was opened for one session goes with it. */
  const release = async (): Promise<void> => {
    const description = await described
    const meta = await endpoint.open()
    if (description?.isKnown === true) await meta.release(description.server.key)
  }

  return {
    era,
    session,
    describe,
    relay,
    forward: (method) => void send(method),
    schemaOf: (tool) => schemas.get(tool),
    notices,
    attach: (connected) =>
      whileConnected(connected, notices, () => {
        if (era === 'legacy') release().catch(() => undefined)
      }),
  }
}

function whileConnected(connected: Server, notices: Notices, onClosed: () => void): void {
  const end = notices.hear((method, params) => {
    connected.notification({ method, params: { ...params } }).catch(() => undefined)
  })
  const before = connected.onclose
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK has this one place and no events
  connected.onclose = () => {
    end()
    onClosed()
    before?.()
  }
}

const ListedTool = z.looseObject({ name: z.string(), inputSchema: z.record(z.string(), z.json()) })

function noteSchemas(data: unknown, schemas: Map<string, JsonObject>): void {
  const { tools } = isJsonObject(data) ? data : {}
  for (const tool of Array.isArray(tools) ? tools : []) {
    const read = ListedTool.safeParse(tool)
    if (read.success) schemas.set(read.data.name, read.data.inputSchema)
  }
}
