import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { canonicalJson } from '../shared/json.ts'
import { readKeyFile, readOrMakeKeyFile } from '../shared/key-file.ts'
import type { Approval } from '../store/approvals.ts'

const WORDS = {
  name: 'approver key',
  otherwise: 'remove it: a new one is made, and what waits is asked again',
}

/** Holds the key that tells a question and an answer of Kiwi's from a row that somebody wrote into the store. */
export interface Approver {
  seal(approval: Omit<Approval, 'mac'>): Promise<Approval>
  /** Whether a row is as it was asked or decided. That it was used since is no part of it. */
  isSealed(approval: Approval): Promise<boolean>
  /** What the receiver of a notice checks its signature with. */
  noticeSecret(): Promise<string>
  /** Whether this is the key itself. */
  isKey(text: string): Promise<boolean>
  /** A code that opens the console for a few minutes. */
  makeCode(now: number): Promise<string>
  isCode(text: string, now: number): Promise<boolean>
}

export function openApprover(path: string): Approver {
  let known: string | null = null
  const read = async (): Promise<string | null> => (known ??= await readKeyFile(path, WORDS))
  const readOrMake = async (): Promise<string> => (known ??= (await readOrMakeKeyFile(path, WORDS)).key)
  return {
    async seal(approval) {
      return { ...approval, mac: mac(await readOrMake(), statementOf(approval)) }
    },
    async isSealed(approval) {
      const key = await read()
      return key !== null && isEqual(mac(key, statementOf(approval)), approval.mac)
    },
    noticeSecret: async () => mac(await readOrMake(), 'kiwi.notice'),
    async isKey(text) {
      const key = await read()
      return key !== null && isEqual(text.trim(), key)
    },
    async makeCode(now) {
      const said = `${now + CODE_MS}.${randomBytes(12).toString('hex')}`
      return `${said}.${mac(await readOrMake(), codeStatement(said))}`
    },
    async isCode(text, now) {
      const key = await read()
      const [, said, until, seal] = /^((\d{1,15})\.[0-9a-f]{24})\.([0-9a-f]{64})$/.exec(text) ?? []
      if (key === null || said === undefined || seal === undefined) return false
      // One that is good for longer than any was made by a clock that has been set back since.
      const left = Number(until) - now
      return left > 0 && left <= CODE_MS && isEqual(mac(key, codeStatement(said)), seal)
    },
  }
}

/** From the terminal to the browser. */
export const CODE_MS = 5 * 60 * 1000

function codeStatement(said: string): string {
  return `kiwi.console ${said}`
}

function mac(key: string, statement: string): string {
  return createHmac('sha256', key).update(statement).digest('hex')
}

/** As it was before it was used: using up is bound to this very seal. */
function statementOf(approval: Omit<Approval, 'mac'>): string {
  const state = approval.state === 'used' ? 'approved' : approval.state
  return `kiwi.approval ${canonicalJson({ ...approval, state, used_at: null, mac: null })}`
}

function isEqual(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)]
  return left.length === right.length && timingSafeEqual(left, right)
}
