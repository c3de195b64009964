import type {
  CallToolResult,
  InputRequiredResult,
  McpServerFactory,
  ServerContext,
} from '@modelcontextprotocol/server'
import { ProtocolError, Server } from '@modelcontextprotocol/server'
import type { Client, Meta } from '../meta/meta.ts'
import { errorReply } from '../meta/reply.ts'
import { INSTRUCTIONS, TOOLS } from '../meta/tools.ts'
import { systemClock } from '../shared/clock.ts'
import type { Reply } from '../shared/reply.ts'
import type { TaskRows } from '../store/tasks.ts'
import { createAsking } from './ask-client.ts'
import type { CallParams } from './call-lane.ts'
import { offerLane } from './call-lane.ts'
import { abilitiesOf } from './client-abilities.ts'
import { createRoot } from './client-root.ts'
import { deferred } from './deferred.ts'
import type { Making } from './parked-call.ts'
import { openParkedCalls } from './parked-calls.ts'
import { pushTalk } from './push-talk.ts'
import { TASKS_EXTENSION } from './task-methods.ts'
import { openTasks } from './tasks.ts'

/** What the endpoint needs to know besides the protocol. */
export interface Endpoint {
  readonly version: string
  /** Opened with the first call, so that listing the tools waits for nothing. */
  readonly open: () => Promise<Meta & { readonly tasks: TaskRows }>
  readonly principal: string
  readonly newSession: () => string
  /** Where the server was started: the project when a client names none. */
  readonly folder: string | null
  /** More than one client may send it requests. */
  readonly hasManyClients?: boolean
}

const INVALID_PARAMS = -32_602
const TOOL_NAMES: ReadonlySet<string> = new Set(TOOLS.map(({ name }) => name))

/** One factory for both protocol eras and both transports. */
export function buildServer(endpoint: Endpoint): McpServerFactory {
  /** Requests of the newer era stand alone; together they are one session. */
  const shared = endpoint.newSession()
  const asking = createAsking(endpoint)
  const parked = openParkedCalls(endpoint.principal)
  const tasks = openTasks({
    rows: async () => (await endpoint.open()).tasks,
    clock: systemClock,
    ids: endpoint.newSession,
  })
  return ({ era }) => {
    const server = new Server(
      { name: 'kiwi', version: endpoint.version },
      {
        capabilities: { tools: {}, logging: {}, extensions: { [TASKS_EXTENSION]: {} } },
        instructions: INSTRUCTIONS,
        cacheHints: { 'tools/list': { ttlMs: 3_600_000, cacheScope: 'public' } },
      },
    )
    const session = era === 'modern' ? shared : endpoint.newSession()
    const root = createRoot(endpoint.folder)
    server.setNotificationHandler('notifications/roots/list_changed', () => root.forget())
    const hasRoots = (): boolean => era === 'legacy' && server.getClientCapabilities()?.roots !== undefined
    let level: string | null = null
    server.setRequestHandler('logging/setLevel', ({ params }) => {
      level = params.level
      return {}
    })
    server.setRequestHandler('tools/list', () => ({ tools: TOOLS.map((tool) => ({ ...tool })) }))
    const respond = async (params: CallParams, ctx: ServerContext): Promise<Answer> => {
      const client: Client = {
        principal: endpoint.principal,
        session,
        isShared: era === 'modern' && endpoint.hasManyClients === true,
        kind: 'agent',
        protocol: server.getNegotiatedProtocolVersion(),
        defaultProject: () => (hasRoots() ? root.of(ctx) : Promise.resolve(endpoint.folder)),
      }
      const abilities = abilitiesOf({ era, ctx, opened: server.getClientCapabilities(), level })
      const call: Making = (talk, signal) => answer(endpoint, params, { ...client, ...talk }, signal)
      const { name, arguments: given = {} } = params
      const occasion = { ctx, request: { name, arguments: given }, abilities }
      const make = (): Promise<Reply | InputRequiredResult> =>
        era === 'modern' ? parked.make(occasion, call) : call(pushTalk(ctx, abilities), ctx.mcpReq.signal)
      const resumed = era === 'modern' ? await parked.resume(occasion) : null
      const reply = resumed ?? (await asking({ ctx, era, client, abilities })(make))
      return 'resultType' in reply ? reply : resultOf(params.name, reply)
    }
    server.setRequestHandler('tools/call', ({ params }, ctx) =>
      deferred({ ctx, principal: endpoint.principal, respond: (same) => respond(params, same) }, tasks),
    )
    if (era === 'legacy') offerLane(server, respond)
    tasks.attach(server, endpoint.principal)
    return server
  }
}

type Answer = CallToolResult | InputRequiredResult

function resultOf(tool: string, reply: Reply): CallToolResult {
  if (!TOOL_NAMES.has(tool))
    throw new ProtocolError(INVALID_PARAMS, reply.error?.message ?? 'Unknown tool', reply.error)
  return {
    content: [{ type: 'text', text: JSON.stringify(reply) }],
    structuredContent: { ...reply },
    isError: reply.status === 'error',
  }
}

/** Even a store that cannot be opened is an answer. */
async function answer(
  endpoint: Endpoint,
  params: CallParams,
  client: Client,
  signal: AbortSignal,
): Promise<Reply> {
  try {
    const meta = await endpoint.open()
    return await meta.call(params.name, params.arguments, client, signal)
  } catch (error) {
    return errorReply(error, { call_id: 'unrecorded', duration_ms: 0 })
  }
}
