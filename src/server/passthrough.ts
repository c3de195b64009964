import type {
  McpRequestContext,
  McpServerFactory,
  Result,
  Server,
  ServerContext,
  ServerEventBus,
} from '@modelcontextprotocol/server'
import { McpServer } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { Client } from '../meta/meta.ts'
import type { JsonObject } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import { withoutMeta } from '../shared/without-meta.ts'
import { createAsking } from './ask-client.ts'
import type { Endpoint } from './build-server.ts'
import { offerLane } from './call-lane.ts'
import { abilitiesOf, declaredBy } from './client-abilities.ts'
import { listenedToBy } from './listened-to.ts'
import { openParkedCalls } from './parked-calls.ts'
import type { Answered } from './passthrough-answer.ts'
import { answerOf, forWhole, refusing } from './passthrough-answer.ts'
import type { Leg, Described } from './passthrough-leg.ts'
import { openLeg } from './passthrough-leg.ts'
import { methodsOf } from './passthrough-methods.ts'
import { busOf } from './passthrough-notices.ts'
import { paramsOf } from './passthrough-params.ts'
import { echoTalk, pushedTalk } from './passthrough-talk.ts'

export interface Passthrough {
  readonly build: McpServerFactory
  /** What clients of the newer era that listen over HTTP are told. */
  readonly bus: ServerEventBus
  /** A client of the newer era listens on standard input, to these resources among others. */
  readonly listen: (uris: readonly string[]) => Promise<void>
  close(): void
}

const AsItIs = z.looseObject({})

/** A server that clients see whole, as if they were connected to it; every request of theirs goes through the gate. */
export function openPassthrough(endpoint: Endpoint, name: string): Passthrough {
  const asking = createAsking(endpoint)
  const parked = openParkedCalls(endpoint.principal)
  /** Clients of the newer era share it: what they are is said with every request. */
  const shared = openLeg(endpoint, name, 'modern')

  const answer = async (given: Given): Promise<Answered> => {
    const { leg, described, server, method, params, ctx, level } = given
    const { era } = leg
    const abilities = abilitiesOf({ era, ctx, opened: server.getClientCapabilities(), level })
    const isSameEra = described.era === era
    const isParked = era === 'modern' && !isSameEra
    const client = clientOf(given, endpoint)
    const occasion = isParked ? { ctx, request: withoutMeta(params), abilities } : null
    if (occasion !== null) {
      const resumed = await parked.resume(occasion)
      if (resumed !== null) return resumed
    }
    return asking({ ctx, era, client, abilities })((carried) => {
      const passed = {
        method,
        params: paramsOf(params, ctx, carried),
        passesInput: era === 'modern' && isSameEra,
      }
      if (occasion !== null)
        return parked.make(occasion, (talk, signal) => leg.relay(passed, { ...client, ...talk }, signal))
      const declared = declaredBy({ era, ctx, opened: server.getClientCapabilities(), level })
      const talk =
        era === 'modern' ? echoTalk(ctx, declared, abilities) : pushedTalk(ctx, declared, abilities)
      // In what every call makes, what is spread comes last: in Node 20 a key that is added to it takes microseconds.
      const { ask, tell, capabilities, logLevel } = talk
      return leg.relay(passed, { ask, tell, capabilities, logLevel, ...client }, ctx.mcpReq.signal)
    })
  }

  const build = async ({ era, requestInfo }: McpRequestContext): Promise<McpServer | Server> => {
    const leg = era === 'modern' ? shared : openLeg(endpoint, name, era)
    const description = await leg.describe()
    if (!description.isKnown) return refusing(description.why)
    const described = description.server
    if (requestInfo !== undefined) await leg.notices.watch((await listenedToBy(requestInfo)) ?? [])
    const shell = shellOf(described, leg)
    const { server } = shell
    let level: string | null = null
    const respond = async (method: string, params: JsonObject, ctx: ServerContext): Promise<Result> => {
      const answered = await answer({ leg, described, server, method, params, ctx, level })
      return answerOf({ method, protocol: server.getNegotiatedProtocolVersion() }, forWhole(answered))
    }
    for (const method of methodsOf(described.capabilities, era)) {
      server.setRequestHandler(method, { params: AsItIs }, (params: unknown, ctx: ServerContext) => {
        const sent = isJsonObject(params) ? params : {}
        if (method === 'logging/setLevel' && typeof sent['level'] === 'string') level = sent['level']
        if (era === 'modern' || !OLDER.has(method)) return respond(method, sent, ctx)
        if (described.era === 'modern') return translated(method, sent, leg)
        return remembered(method, sent, leg, respond(method, sent, ctx))
      })
    }
    if (era === 'legacy' && 'tools' in described.capabilities)
      offerLane(server, (params, ctx) => respond('tools/call', isJsonObject(params) ? params : {}, ctx))
    if (era === 'legacy')
      server.setNotificationHandler('notifications/roots/list_changed', () =>
        leg.forward('notifications/roots/list_changed'),
      )
    // Over HTTP a server of the newer era lives as long as its one request.
    if (requestInfo === undefined) leg.attach(server)
    return shell
  }
  return {
    build,
    bus: busOf(shared.notices),
    // What it hears of is the business of the server behind, which may only be starting.
    async listen(uris) {
      shared.notices.watch(uris).catch(() => undefined)
    },
    close: () => shared.notices.close(),
  }
}

interface Given {
  readonly leg: Leg
  readonly described: Described
  readonly server: Server
  readonly method: string
  readonly params: JsonObject
  readonly ctx: ServerContext
  readonly level: string | null
}

function clientOf({ leg, server }: Given, endpoint: Endpoint): Client {
  return {
    principal: endpoint.principal,
    session: leg.session,
    isShared: leg.era === 'modern' && endpoint.hasManyClients === true,
    kind: 'agent',
    protocol: server.getNegotiatedProtocolVersion(),
    defaultProject: () => endpoint.folder,
  }
}

/**
 * What a server of the older era remembers, and one of the newer does not know: there who listens says so in one request,
 * and the level of the log goes with each.
 */
const OLDER: ReadonlySet<string> = new Set([
  'resources/subscribe',
  'resources/unsubscribe',
  'logging/setLevel',
])

async function translated(method: string, { uri }: JsonObject, { notices }: Leg): Promise<Result> {
  const uris = typeof uri === 'string' ? [uri] : []
  if (method === 'resources/subscribe') await notices.watch(uris)
  if (method === 'resources/unsubscribe') await notices.unwatch(uris)
  return {}
}

/** What the server has taken it is told again after it was lost. */
async function remembered(
  method: string,
  params: JsonObject,
  { notices }: Leg,
  result: Promise<Result>,
): Promise<Result> {
  await result
  notices.keep(method, withoutMeta(params))
  return result
}

/** The tools' schemas say which arguments stand in the headers of a call as well. */
class Shell extends McpServer {
  schemaOf: (tool: string) => JsonObject | undefined = () => undefined

  override toolInputSchemaJson(tool: string): Record<string, unknown> | undefined {
    const schema = this.schemaOf(tool)
    return schema === undefined ? undefined : { ...schema }
  }
}

function shellOf({ serverInfo, capabilities, instructions }: Described, leg: Leg): Shell {
  const { name, version, ...more } = serverInfo
  const shell = new Shell(
    { ...more, name: textIn(name, 'server'), version: textIn(version, '0') },
    {
      capabilities: { ...capabilities },
      ...(instructions === null ? {} : { instructions }),
    },
  )
  shell.schemaOf = (tool) => leg.schemaOf(tool)
  return shell
}

function textIn(value: unknown, otherwise: string): string {
  return typeof value === 'string' ? value : otherwise
}
