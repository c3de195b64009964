import type { Result, Server, ServerContext } from '@modelcontextprotocol/server'
import { ProtocolError } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { Client, Meta } from '../meta/meta.ts'
import { errorReply } from '../meta/reply.ts'
import type { SurfaceMethod, SurfaceRequest } from '../meta/surfaces/surface.ts'
import type { JsonObject } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import type { Reply } from '../shared/reply.ts'
import { textOf } from '../shared/template.ts'
import type { Changes, List } from './changes.ts'
import { MOST_WATCHED } from './changes.ts'
import type { Answered } from './passthrough-answer.ts'
import { answerOf } from './passthrough-answer.ts'

export const SKILLS_EXTENSION = 'io.modelcontextprotocol/skills'

/** What is said of them when a client connects. */
export const SURFACE_CAPABILITIES = {
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  completions: {},
} as const

interface SurfaceMeans {
  readonly era: 'legacy' | 'modern'
  readonly open: () => Promise<Pick<Meta, 'show'>>
  readonly clientOf: (ctx: ServerContext) => Client
  /** Asks a person first, where the gate says so and the client can show a form. */
  readonly asking: (ctx: ServerContext, call: () => Promise<Reply>) => Promise<Answered>
  readonly changes: Changes
}

/** Lists whose changes are told, by what shows them. */
const LISTED: Readonly<Record<string, List>> = {
  'prompts/list': 'prompts',
  'resources/list': 'resources',
  'skills/list': 'resources',
}
/** Requests that the newer era lets end in a question. */
const ASKS: ReadonlySet<SurfaceMethod> = new Set(['prompts/get', 'resources/read'])
const METHODS: readonly SurfaceMethod[] = [
  'prompts/list',
  'prompts/get',
  'completion/complete',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'resources/directory/read',
  'skills/list',
  'skills/get',
]
/** Their results say in the newer era how long they hold; those of the core are given it by the SDK. */
const EXTENDED: ReadonlySet<SurfaceMethod> = new Set([
  'resources/directory/read',
  'skills/list',
  'skills/get',
])
const UNKEPT = { ttlMs: 0, cacheScope: 'private' }

const AsItIs = z.looseObject({})
const REFUSED = -32_000
const INVALID_PARAMS = -32_602

/** Directives as prompts, knowledge as resources, both as skills. */
export function offerSurfaces(server: Server, means: SurfaceMeans): void {
  const { era, changes } = means
  const handle = (method: SurfaceMethod | 'resources/unsubscribe', answer: Handler): void =>
    server.setRequestHandler(method, { params: AsItIs }, (params: unknown, ctx: ServerContext) =>
      answer(isJsonObject(params) ? params : {}, ctx),
    )
  for (const method of METHODS) {
    const list = LISTED[method]
    handle(method, async (params, ctx) => {
      if (list !== undefined) {
        // Of which project it is, is known from here on.
        await means.clientOf(ctx).defaultProject()
        await changes.begin(list)
      }
      return respond(means, { method, params }, ctx)
    })
  }
  if (era === 'modern') return
  handle('resources/subscribe', async (params, ctx) => {
    if (changes.watching >= MOST_WATCHED)
      throw new ProtocolError(REFUSED, `Cannot watch more than ${MOST_WATCHED} resources: end some first`)
    const result = await respond(means, { method: 'resources/subscribe', params }, ctx)
    await changes.watch([textOf(params['uri'])])
    return result
  })
  handle('resources/unsubscribe', async (params) => {
    await changes.unwatch([textOf(params['uri'])])
    return {}
  })
}

type Handler = (params: JsonObject, ctx: ServerContext) => Promise<Result>

async function respond(means: SurfaceMeans, request: SurfaceRequest, ctx: ServerContext): Promise<Result> {
  const { era, open, clientOf, asking } = means
  const show = async (): Promise<Reply> => {
    try {
      const meta = await open()
      return await meta.show(request, clientOf(ctx), ctx.mcpReq.signal)
    } catch (error) {
      return errorReply(error, { call_id: 'unrecorded', duration_ms: 0 })
    }
  }
  const { method, params } = request
  const answered = era === 'legacy' || ASKS.has(method) ? await asking(ctx, show) : await show()
  const isReply = !('resultType' in answered)
  if (isReply && answered.error?.code === 'NOT_FOUND' && method === 'resources/read') {
    const { message, hint } = answered.error
    const uri = textOf(params['uri']).slice(0, 512)
    throw new ProtocolError(INVALID_PARAMS, `${message}\n${hint}`, { uri, ...answered.error })
  }
  const result = answerOf({ method, protocol: undefined }, answered)
  return era === 'modern' && EXTENDED.has(method) ? { ...result, ...UNKEPT } : result
}
