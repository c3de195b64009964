import type {
  CallToolResult,
  InputRequiredResult,
  McpServerFactory,
  ServerContext,
  ServerEventBus,
} from '@modelcontextprotocol/server'
import { ProtocolError, Server } from '@modelcontextprotocol/server'
import type { Client, Meta } from '../meta/meta.ts'
import { errorReply } from '../meta/reply.ts'
import { INSTRUCTIONS, TOOLS } from '../meta/tools.ts'
import { systemClock } from '../shared/clock.ts'
import type { Reply } from '../shared/reply.ts'
import type { Stop } from '../shared/stop.ts'
import type { TaskRows } from '../store/tasks.ts'
import { createAsking } from './ask-client.ts'
import type { CallParams } from './call-lane.ts'
import { offerLane } from './call-lane.ts'
import type { Abilities } from './client-abilities.ts'
import { abilitiesOf } from './client-abilities.ts'
import { hearAll, openChanges, tellWhileOpen } from './changes.ts'
import { openClient } from './open-client.ts'
import { deferred } from './deferred.ts'
import { listenedToBy } from './listened-to.ts'
import type { Making } from './parked-call.ts'
import { openParkedCalls } from './parked-calls.ts'
import { busOf } from './passthrough-notices.ts'
import { pushTalk } from './push-talk.ts'
import { offerSurfaces, SKILLS_EXTENSION, SURFACE_CAPABILITIES } from './surfaces.ts'
import { TASKS_EXTENSION } from './task-methods.ts'
import { openTasks } from './tasks.ts'

/** What the endpoint needs to know besides the protocol. */
export interface Endpoint {
  readonly version: string
  /** Opened with the first call, so that listing the tools waits for nothing. */
  readonly open: () => Promise<
    Meta & { readonly tasks: TaskRows; readonly config: { readonly watch: boolean } }
  >
  readonly principal: string
  readonly newSession: () => string
  /** Where the server was started: the project when a client names none. */
  readonly folder: string | null
  /** More than one client may send it requests. */
  readonly hasManyClients?: boolean
}

const INVALID_PARAMS = -32_602
const TOOL_NAMES: ReadonlySet<string> = new Set(TOOLS.map(({ name }) => name))

/** Kiwi's own server, as clients connect to it. */
export interface BuiltServer {
  /** One factory for both protocol eras and both transports. */
  readonly build: McpServerFactory
  /** What clients of the newer era that listen over HTTP are told. */
  readonly bus: ServerEventBus
  /** A client of the newer era listens on standard input, to these resources among others; it is told so afterwards. */
  readonly listen: (uris: readonly string[]) => Promise<void>
  close(): void
}

export function buildServer(endpoint: Endpoint): BuiltServer {
  /** Requests of the newer era stand alone; together they are one session. */
  const shared = endpoint.newSession()
  const sharedChanges = openChanges({
    open: endpoint.open,
    project: () => endpoint.folder,
    clock: systemClock,
  })
  const asking = createAsking(endpoint)
  const parked = openParkedCalls(endpoint.principal)
  const tasks = openTasks({
    rows: async () => (await endpoint.open()).tasks,
    clock: systemClock,
    ids: endpoint.newSession,
  })
  const build: McpServerFactory = async ({ era, requestInfo }) => {
    const uris = requestInfo === undefined ? null : await listenedToBy(requestInfo)
    if (uris !== null) await sharedChanges.expect(uris)
    const server = newServer(endpoint.version)
    const session = era === 'modern' ? shared : endpoint.newSession()
    const { clientOf, project } = openClient(server, { endpoint, era, session })
    const changes =
      era === 'modern' ? sharedChanges : openChanges({ open: endpoint.open, project, clock: systemClock })
    let level: string | null = null
    server.setRequestHandler('logging/setLevel', ({ params }) => {
      level = params.level
      return {}
    })
    server.setRequestHandler('tools/list', () => ({ tools: TOOLS.map((tool) => ({ ...tool })) }))
    const abilitiesIn = (ctx: ServerContext): Abilities =>
      abilitiesOf({ era, ctx, opened: server.getClientCapabilities(), level })
    const respond = async (params: CallParams, ctx: ServerContext): Promise<Answer> => {
      const client = clientOf(ctx)
      const abilities = abilitiesIn(ctx)
      const call: Making = (talk, signal) => answer(endpoint, params, { ...client, ...talk }, signal)
      const { name, arguments: given = {} } = params
      const occasion = { ctx, request: { name, arguments: given }, abilities }
      const make = (): Promise<Reply | InputRequiredResult> =>
        era === 'modern' ? parked.make(occasion, call) : call(pushTalk(ctx, abilities), ctx.mcpReq.signal)
      const resumed = era === 'modern' ? await parked.resume(occasion) : null
      const reply = resumed ?? (await asking({ ctx, era, client, abilities })(make))
      changes.glance()
      return 'resultType' in reply ? reply : resultOf(params.name, reply)
    }
    server.setRequestHandler('tools/call', ({ params }, ctx) =>
      deferred({ ctx, principal: endpoint.principal, respond: (same) => respond(params, same) }, tasks),
    )
    if (era === 'legacy') offerLane(server, respond)
    tasks.attach(server, endpoint.principal)
    offerSurfaces(server, {
      era,
      open: endpoint.open,
      clientOf,
      changes,
      asking: (ctx, show) => asking({ ctx, era, client: clientOf(ctx), abilities: abilitiesIn(ctx) })(show),
    })
    // Over HTTP a server of the newer era lives as long as its one request.
    if (requestInfo === undefined) tellWhileOpen(server, changes, era === 'legacy')
    return server
  }
  return {
    build,
    bus: busOf({ ...sharedChanges, hear: (listener) => hearAll(sharedChanges, listener) }),
    listen(uris) {
      sharedChanges.attend()
      return sharedChanges.expect(uris)
    },
    close: () => sharedChanges.close(),
  }
}

function newServer(version: string): Server {
  return new Server(
    { name: 'kiwi', version },
    {
      capabilities: {
        tools: {},
        logging: {},
        ...SURFACE_CAPABILITIES,
        extensions: { [TASKS_EXTENSION]: {}, [SKILLS_EXTENSION]: { directoryRead: true } },
      },
      instructions: INSTRUCTIONS,
      cacheHints: { 'tools/list': { ttlMs: 3_600_000, cacheScope: 'public' } },
    },
  )
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
async function answer(endpoint: Endpoint, params: CallParams, client: Client, signal: Stop): Promise<Reply> {
  try {
    const meta = await endpoint.open()
    return await meta.call(params.name, params.arguments, client, signal)
  } catch (error) {
    return errorReply(error, { call_id: 'unrecorded', duration_ms: 0 })
  }
}
