import { randomUUID } from 'node:crypto'
import type { ServerContext } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { KiwiError, messageOf } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import type { Ask, Talk } from '../shared/progress.ts'
import { realSignal } from '../shared/stop.ts'
import type { Abilities } from './client-abilities.ts'
import type { Voice } from './client-voice.ts'
import { voiceOf } from './client-voice.ts'

/** How long a person may take; a client that gives up on the call ends it sooner. */
const PATIENCE_MS = 10 * 60 * 1000
/** An answer goes to the upstream as it came. */
const AsItIs = z.looseObject({})

/** Clients of the older era are asked while their request waits. */
export function pushTalk(ctx: ServerContext, abilities: Abilities): Talk & Voice {
  const { capabilities, logLevel } = abilities
  return {
    capabilities,
    ...(logLevel === null ? {} : { logLevel }),
    ...voiceOf(() => ctx, abilities),
    ask: askWhile(ctx),
  }
}

/** Asks while the request of the client waits. */
export function askWhile({ mcpReq }: ServerContext): Ask {
  return async ({ method, params }, signal) => {
    const options = { timeout: PATIENCE_MS, ...(signal === undefined ? {} : { signal: realSignal(signal) }) }
    try {
      const answer: unknown = await mcpReq.send({ method, params: asked(params) }, AsItIs, options)
      return isJsonObject(answer) ? answer : {}
    } catch (error) {
      throw new KiwiError('PERMISSION_DENIED', `Cannot ask the client for "${method}": ${messageOf(error)}`, {
        cause: error,
      })
    }
  }
}

/** An upstream of the newer era gives addresses no id, and the older one wants one. */
function asked(params: JsonObject): JsonObject {
  return params['mode'] === 'url' && params['elicitationId'] === undefined
    ? { ...params, elicitationId: randomUUID() }
    : params
}
