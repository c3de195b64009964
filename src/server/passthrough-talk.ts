import type { ServerContext } from '@modelcontextprotocol/server'
import type { JsonObject } from '../shared/json.ts'
import type { Notice, Talk } from '../shared/progress.ts'
import type { Abilities } from './client-abilities.ts'
import { askWhile } from './push-talk.ts'

/**
 * A client of the older era is asked while its request waits. It set the level of the log at a server of its own era;
 * one of the newer hears it with each request.
 */
export function pushedTalk(ctx: ServerContext, declared: JsonObject, { logLevel }: Abilities): Talk {
  return {
    ask: askWhile(ctx),
    capabilities: declared,
    tell: tellOf(ctx, true),
    ...(logLevel === null ? {} : { logLevel }),
  }
}

/**
 * A client of the newer era gets what the server wants to know as the answer. So that this is held to what everything
 * asked of a client is held to, it is asked of somebody who gives it back as it was let through.
 */
export function echoTalk(ctx: ServerContext, declared: JsonObject, { logLevel }: Abilities): Talk {
  return {
    capabilities: declared,
    tell: tellOf(ctx, logLevel !== null),
    ask: ({ method, params }) => Promise.resolve(method === 'roots/list' ? { method } : { method, params }),
  }
}

/** What cannot be told is not worth failing for. */
function tellOf({ mcpReq }: ServerContext, hearsLog: boolean): (notice: Notice) => void {
  const { _meta: { progressToken } = {} } = mcpReq
  return ({ method, params }) => {
    const isProgress = method === 'notifications/progress'
    if (isProgress ? progressToken === undefined : method === 'notifications/message' && !hearsLog) return
    const sent = isProgress ? { ...params, progressToken } : { ...params }
    mcpReq.notify({ method, params: sent }).catch(() => undefined)
  }
}
