import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import type { Ask } from '../shared/progress.ts'
import type { Stop } from '../shared/stop.ts'
import { cancelled } from '../upstream/pending.ts'

interface Asking {
  /** How people know the upstream. */
  readonly from: string
  /** The tool that was called. */
  readonly tool: string
  readonly ask: Ask
  readonly signal?: Stop | undefined
}

/** As the protocol says that a person has to open an address before the request can be made. */
const ADDRESS_REQUIRED = -32_042
const MOST_ADDRESSES = 4

/** The error to end with: where an upstream wants an address opened first, the client was asked to, and it says what is next. */
export async function addressRequired(
  failure: unknown,
  { from, tool, ask, signal }: Asking,
): Promise<unknown> {
  if (!(failure instanceof KiwiError)) return failure
  const asked = addressesIn(failure.details['rpc_error'])
  if (asked.length === 0) return failure
  const actions: unknown[] = []
  for (const params of asked) {
    const answer = await ask({ from, method: 'elicitation/create', params }, signal).catch(() => null)
    if (signal?.aborted === true) throw cancelled(from)
    actions.push(answer === null ? null : answer['action'])
  }
  const hosts = [...new Set(asked.map(({ url }) => hostOf(url)))].join(', ')
  return new KiwiError('TOOL_FAILED', `Cannot call "${tool}": a person has to open ${hosts} first`, {
    hint: nextStep(actions),
    details: failure.details,
    cause: failure,
  })
}

function addressesIn(said: unknown): readonly JsonObject[] {
  if (!isJsonObject(said) || said['code'] !== ADDRESS_REQUIRED) return []
  const { data } = said
  const elicitations = isJsonObject(data) ? data['elicitations'] : []
  return (Array.isArray(elicitations) ? elicitations : [])
    .filter((each) => isJsonObject(each))
    .filter(({ url }) => typeof url === 'string' && URL.canParse(url))
    .slice(0, MOST_ADDRESSES)
    .map(({ url = '', message = '', elicitationId }) => ({
      mode: 'url',
      url,
      message,
      ...(elicitationId === undefined ? {} : { elicitationId }),
    }))
}

function hostOf(url: unknown): string {
  return JSON.stringify(new URL(String(url)).host)
}

function nextStep(actions: readonly unknown[]): string {
  if (actions.every((action) => action === 'accept'))
    return 'It was opened for the person: send the call again once they are done there'
  return actions.includes(null)
    ? 'The client cannot open addresses: give the person the one in details.rpc_error, and send the call again once they are done there'
    : 'The person did not want to open it: ask them, then send the call again'
}
