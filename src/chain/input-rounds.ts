import { setTimeout as delay } from 'node:timers/promises'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject, JsonValue } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import type { Ask } from '../shared/progress.ts'
import type { Stop } from '../shared/stop.ts'
import { realSignal } from '../shared/stop.ts'
import { cancelled } from '../upstream/pending.ts'

/** One call of a tool, sent as often as it takes. */
interface Rounds {
  /** How people know the upstream. */
  readonly from: string
  readonly params: JsonObject
  readonly send: (params: JsonObject) => Promise<JsonObject>
  readonly ask: Ask
  readonly signal?: Stop | undefined
  /** Waits for what the upstream goes on with after it has answered; null for what is done. */
  readonly finish?: ((result: JsonObject) => Promise<JsonObject> | null) | undefined
}

const MOST_ROUNDS = 8
const MOST_INPUTS = 16
/** An upstream that only wants to be asked again is not asked at once. */
const PAUSE_MS = 250

/** An upstream of the newer era answers with what it wants to know; with that the same request is sent again. */
export async function askedInRounds({
  from,
  params,
  send,
  ask,
  signal,
  finish,
}: Rounds): Promise<JsonObject> {
  let result = await send(params)
  for (let round = 1; result['resultType'] === 'input_required'; round++) {
    if (round > MOST_ROUNDS) throw endless(from)
    const { inputRequests = {}, requestState } = result
    const asked = isJsonObject(inputRequests) ? Object.entries(inputRequests) : []
    if (asked.length > MOST_INPUTS || (asked.length === 0 && typeof requestState !== 'string'))
      throw endless(from)
    if (asked.length === 0) await pause(PAUSE_MS * round, from, signal)
    const answers = await Promise.all(
      asked.map(async ([key, request]) => [key, await answerTo(request, from, ask, signal)] as const),
    )
    result = await send({
      ...params,
      ...(answers.length === 0 ? {} : { inputResponses: Object.fromEntries(answers) }),
      ...(typeof requestState === 'string' ? { requestState } : {}),
    })
  }
  return finish?.(result) ?? result
}

async function pause(ms: number, from: string, signal: Stop | undefined): Promise<void> {
  const options = signal === undefined ? {} : { signal: realSignal(signal) }
  await delay(ms, undefined, options).catch(() => {
    throw cancelled(from)
  })
}

/** A form that cannot be shown is one that nobody filled in. What has no such answer ends the call. */
export async function answerTo(
  request: JsonValue,
  from: string,
  ask: Ask,
  signal: Stop | undefined,
): Promise<JsonObject> {
  const { method, params = {} } = isJsonObject(request) ? request : {}
  if (typeof method !== 'string' || !isJsonObject(params))
    throw new KiwiError('TOOL_FAILED', `Cannot use "${from}": what it asks for cannot be read`)
  try {
    return await ask({ from, method, params }, signal)
  } catch (error) {
    // A form that is taken back with its call was refused by nobody.
    if (signal?.aborted === true) throw cancelled(from)
    if (method !== 'elicitation/create') throw error
    return { action: 'cancel' }
  }
}

function endless(from: string): KiwiError {
  return new KiwiError('TOOL_FAILED', `Cannot use "${from}": it asks for input and never answers`)
}
