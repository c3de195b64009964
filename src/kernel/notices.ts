import { createHmac, randomUUID } from 'node:crypto'
import type { Chain } from '../chain/chain.ts'
import { messageOf } from '../shared/errors.ts'
import { createIds } from '../shared/ids.ts'
import type { JsonObject } from '../shared/json.ts'
import { keepAll } from '../shared/redact.ts'
import type { Approval } from '../store/approvals.ts'
import type { Arrival, Outcome, Ticket, Work } from './call.ts'
import type { Means } from './means.ts'
import type { Notice } from './policy/policy.ts'

interface NoticeMeans extends Pick<Means, 'approver' | 'clock' | 'log'> {
  readonly chain: Chain
  /** The gate: a notice is a call like any other. */
  readonly pass: (ticket: Ticket, workOut: () => Promise<Arrival>) => Promise<Outcome>
}

/** Tells people elsewhere that one of them is waited for. A notice asks for no answer, and none is taken from there. */
export function openNotices(means: NoticeMeans): {
  readonly notify: Means['notify']
  /** Resolves when nothing is on its way any more. */
  drain(): Promise<void>
} {
  const underWay = new Set<Promise<void>>()
  const ids = createIds(() => means.clock.now())
  const send = async (question: Approval, { kind, to }: Notice): Promise<void> => {
    try {
      if (to === null || (kind !== 'webhook' && kind !== 'slack'))
        throw new Error(`notices by ${kind} are not available`)
      await means.pass(ticketOf(question, ids()), async () => ({
        work: await noticeWork(question, { kind, to }, means),
        projectPath: null,
        isDryRun: false,
      }))
    } catch (error) {
      means.log.warn('notice.failed', { approval_id: question.id, kind, reason: messageOf(error) })
    }
  }
  return {
    notify(question, notices) {
      for (const notice of notices) {
        const sending = send(question, notice).finally(() => underWay.delete(sending))
        underWay.add(sending)
      }
    },
    async drain() {
      await Promise.all(underWay)
    },
  }
}

function ticketOf({ id, session }: Approval, callId: string): Ticket {
  return {
    callId,
    operation: 'notice',
    subject: id,
    parameters: { approval_id: id },
    caller: { principal: 'kiwi', session, kind: 'person' },
  }
}

const TIMEOUT_MS = 10_000

async function noticeWork(
  question: Approval,
  { kind, to }: { readonly kind: 'webhook' | 'slack'; readonly to: string },
  { chain, approver, clock }: NoticeMeans,
): Promise<Work> {
  const url = new URL(to)
  const body = JSON.stringify(kind === 'slack' ? { text: slackText(question) } : payloadOf(question))
  const timestamp = String(Math.floor(clock.now() / 1000))
  const nonce = randomUUID()
  const signature = createHmac('sha256', await approver.noticeSecret())
    .update(`${timestamp}.${nonce}.${body}`)
    .digest('hex')
  return {
    item: { id: 'kiwi-mcp', version: null, space: null },
    action: 'notice',
    chain: [],
    demands: [
      { op: 'tool', id: 'kiwi-mcp', action: 'notice' },
      { op: 'net', host: url.host, method: 'POST' },
    ],
    isRepeatable: true,
    isReadOnly: false,
    ifAsked: 'refuse',
    parameters: { approval_id: question.id, kind, host: url.host },
    redact: keepAll,
    preview: () => ({}),
    warnings: [],
    async perform(watch) {
      const headers = {
        'content-type': 'application/json',
        'x-kiwi-timestamp': timestamp,
        'x-kiwi-nonce': nonce,
        'x-kiwi-signature': `sha256=${signature}`,
      }
      const status = await chain.post({ url: url.href, headers, body, timeoutMs: TIMEOUT_MS }, watch)
      return { data: { output: `${url.host} answered ${status}` }, warnings: [] }
    },
  }
}

/** What leaves the machine says what waits, not what is in it: arguments stay here. */
function payloadOf({
  id,
  tool,
  layer,
  rule,
  principal,
  project,
  expires_at,
  call_hash,
}: Approval): JsonObject {
  return {
    event: 'approval_required',
    approval_id: id,
    tool,
    layer,
    rule,
    principal,
    project,
    call_hash,
    expires_at: new Date(expires_at).toISOString(),
    how: `kiwi approve ${id}`,
  }
}

function slackText({ id, tool, principal, expires_at }: Approval): string {
  return `${plain(principal)} waits for a person: ${plain(tool)}. Until ${new Date(expires_at).toISOString()}: kiwi approve ${id}`
}

/** Nothing that Slack would take for a link, a mention or a mark-up. */
function plain(text: string): string {
  return text.replaceAll(/[^\w .:/-]/g, '?')
}
