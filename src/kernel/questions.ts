import { KiwiError } from '../shared/errors.ts'
import { sha256 } from '../shared/json.ts'
import type { Redact } from '../shared/redact.ts'
import type { Approval, ApprovalFilter } from '../store/approvals.ts'
import { CODE_MS } from './approver.ts'
import { isExpired } from './find-answer.ts'
import type { Means } from './means.ts'

/** A question as a person sees it. */
export interface Question extends Approval {
  /** Whether Kiwi asked it so, or somebody wrote it into the store. */
  readonly isOurs: boolean
}

/** What waits for a person, and what was answered: to look at only. */
export interface Questions {
  list(filter: ApprovalFilter): Promise<readonly Question[]>
  /** By its id, at least six characters of it, or a session that has exactly one open. */
  find(text: string): Promise<Question>
  /** Takes secrets out of what is shown beside a question: what a file holds now came by no call. */
  readonly redact: Redact
  /** Whether this is the approver's key. */
  isKey(text: string): Promise<boolean>
  /** What the receiver of a notice checks its signature with. */
  noticeSecret(): Promise<string>
  /** A code that opens the console for a few minutes. */
  makeCode(): Promise<string>
  /** Whether it is one of those, and this its first use. */
  useCode(text: string): Promise<boolean>
}

const SHORTEST = 6

export function openQuestions({
  store,
  approver,
  clock,
  secrets,
}: Pick<Means, 'store' | 'approver' | 'clock' | 'secrets'>): Questions {
  const list: Questions['list'] = async (filter) => {
    await secrets.learn()
    const rows = await store.approvals.list(filter)
    return Promise.all(
      rows.map(async (row) => {
        const isEnded = row.state === 'expired' || (row.state !== 'used' && isExpired(row, clock.now()))
        const isOurs = row.state === 'expired' || (await approver.isSealed(row))
        return { ...row, state: isEnded ? 'expired' : row.state, isOurs }
      }),
    )
  }
  return {
    list,
    redact: secrets.redact,
    async find(text) {
      const ofSession = await list({ session: text, states: ['pending'], limit: 100 })
      const open = ofSession.filter(({ state }) => state === 'pending')
      const [only] = open
      if (only !== undefined && open.length === 1) return only
      if (only !== undefined) throw severalWait(text, open)
      const [first, second] =
        text.length < SHORTEST ? [] : await list({ prefix: text.toLowerCase(), limit: 2 })
      if (first !== undefined && second === undefined) return first
      throw new KiwiError(
        'NOT_FOUND',
        `Cannot find the question "${text}": ${first === undefined ? 'nobody has asked it' : 'several begin so'}`,
        { hint: 'kiwi approvals lists what waits; give its id, or at least six characters of it' },
      )
    },
    isKey: (text) => approver.isKey(text),
    noticeSecret: () => approver.noticeSecret(),
    makeCode: () => approver.makeCode(clock.now()),
    async useCode(text) {
      const now = clock.now()
      if (!(await approver.isCode(text, now))) return false
      const once = { key: `console ${sha256(text)}`, count: 1, windowMs: CODE_MS }
      return (await store.limits.take([once], now)) === null
    },
  }
}

function severalWait(session: string, open: readonly Approval[]): KiwiError {
  return new KiwiError(
    'CONFLICT',
    `Cannot tell which question of session "${session}" is meant: ${open.length} wait`,
    {
      hint: `Give the id of one: ${open.map(({ id }) => id).join(', ')}`,
      details: { ids: open.map(({ id }) => id) },
    },
  )
}
