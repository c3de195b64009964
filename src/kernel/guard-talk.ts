import { cannotAnswer, cannotAsk } from '../shared/can-answer.ts'
import { KiwiError } from '../shared/errors.ts'
import { allWithoutHidden } from '../shared/hidden.ts'
import type { JsonObject } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import type { Ask, AskedOfClient, Talk } from '../shared/progress.ts'
import { visible } from '../shared/visible.ts'
import type { Call } from './call.ts'
import { chargeCall } from './budget.ts'
import { credentialField } from './credential-field.ts'
import type { Means } from './means.ts'
import { maySample } from './policy/may-sample.ts'
import { serverName } from '../shared/groups.ts'

/** What an upstream asks of the client comes through here: some things are asked of nobody, and all say who asks. */
export function guardTalk(call: Call, means: Means): Pick<Talk, 'ask' | 'tell'> {
  const { ask, tell } = call.ticket
  return {
    ask: ask && guarded(ask, call, means),
    tell: tell && ((notice) => tell({ ...notice, from: serverName(notice.from) })),
  }
}

function guarded(ask: Ask, call: Call, means: Means): Ask {
  return async ({ from: id, method, params: sent }, signal) => {
    const from = serverName(id)
    // Tokens and tasks between the upstream and us are nobody else's.
    const { _meta, task: _task, ...own } = sent
    const { capabilities } = call.ticket
    // Who cannot be asked at all is told of nothing else.
    const unable = capabilities === undefined ? null : cannotAnswer(capabilities, { method, params: own })
    if (unable !== null) throw cannotAsk(method, unable)
    if (JSON.stringify(own).length > LONGEST) throw refused(method, from, 'it is too long')
    const shown = allWithoutHidden(own)
    const params = isJsonObject(shown) ? shown : {}
    switch (method) {
      case 'elicitation/create':
        return ask({ from, method, params: shownForm(from, params) }, signal)
      case 'sampling/createMessage': {
        if (!maySample(call.policy?.layers ?? [], id)) throw refused(method, from, NOT_GRANTED)
        const { includeContext: _, ...rest } = params
        return chargeCall(call, means, () => ask({ from, method, params: rest }, signal))
      }
      case 'roots/list':
        return ask({ from, method, params: {} }, signal)
      default:
        throw refused(method, from, 'Kiwi passes no such request on')
    }
  }
}

const LONGEST = 256 * 1024
const LONGEST_MESSAGE = 4000
const NOT_GRANTED =
  'sampling is granted by <execute resource="sampling"/> of a directive, or by a rule with actions: [sample]'

/** Whoever is asked sees by whom, and where an address leads, whatever the message says. */
function shownForm(from: string, params: JsonObject): JsonObject {
  const said = typeof params['message'] === 'string' ? params['message'].slice(0, LONGEST_MESSAGE) : ''
  if (params['mode'] === 'url') {
    const host = hostOf(params['url'])
    if (host === null) throw refused('elicitation/create', from, 'its address is none that can be opened')
    return { ...params, message: `${from} wants you to open ${host}: ${said}` }
  }
  const asking = credentialField(params)
  if (asking !== null)
    throw refused('elicitation/create', from, `its ${asking} asks for a credential, which no form may`)
  return { ...params, message: `${from} asks: ${said}` }
}

/** Null for what is no address of the web, or hides where it leads. */
function hostOf(url: unknown): string | null {
  if (typeof url !== 'string' || !URL.canParse(url)) return null
  const { protocol, host, username, password, hostname } = new URL(url)
  const isSafe = protocol === 'https:' || (protocol === 'http:' && LOOPBACK.has(hostname))
  return isSafe && username === '' && password === '' ? host : null
}

const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])

/** As the protocol says that a person would not have it. */
const REJECTED = -1

function refused(method: AskedOfClient['method'], from: string, reason: string): KiwiError {
  return new KiwiError(
    'PERMISSION_DENIED',
    `Cannot pass "${visible(method).slice(0, 64)}" of "${from}" on: ${reason}`,
    { details: { rpc_error: { code: REJECTED } } },
  )
}
