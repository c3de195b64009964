import { messageOf } from '../shared/errors.ts'
import { LIMITS } from '../shared/limits.ts'
import type { OwnKey } from '../spaces/signing-key.ts'
import type { Journal, JournalFault, Verified } from '../store/journal.ts'
import { ERASE } from './erase-work.ts'
import type { Head } from './heads.ts'
import { readHeads, statementOf } from './heads.ts'

/** What can be said of the whole journal: its chain, and the heads that were kept outside of it. */
export interface JournalReport extends Omit<Verified, 'fault' | 'erased'> {
  /**
   * `cut`: its end is missing. `rewritten`: the chain is sound, and not the one that was signed. `forged`: a head is.
   * `emptied`: a body is gone that nobody erased. `unvouched`: there were heads, and none is left that can be checked.
   */
  readonly fault: JournalFault | 'cut' | 'rewritten' | 'forged' | 'emptied' | 'unvouched' | null
  /** The head that says so. */
  readonly head: Head | null
  /** Heads that were compared. */
  readonly heads: number
  /** How many records the store itself counted at its last head; null when there never was one. */
  readonly noted: number | null
  readonly notes: readonly string[]
}

interface VerifyMeans {
  readonly journal: Journal
  readonly file: string
  readonly ownKey: OwnKey
}

export async function verifyWithHeads({ journal, file, ownKey }: VerifyMeans): Promise<JournalReport> {
  // In this order: a head is written when its records stand, and noted when it is written.
  const noted = await journal.notedHead()
  const { heads, notes } = await headsOf(file)
  const { clockBack, erased, ...walked } = await journal.verify()
  const told = [
    ...notes,
    ...clockBack.map(({ seq, ms }) => `the clock went back by ${ms / 1000} s before record ${seq}`),
  ]
  const report = { ...walked, clockBack, head: null, heads: heads.length, noted, notes: told }
  if (walked.brokenAt !== null) return report
  if (erased.length > 0) told.push(`${erased.length} records hold nothing any more`)
  const emptied = await emptiedIn(erased, journal)
  if (emptied !== null) return { ...report, fault: 'emptied', brokenAt: emptied }
  const { isForged, isForeign } = judgeOf(ownKey)
  const foreign = heads.filter(isForeign).length
  if (foreign > 0) told.push(`${foreign} heads were signed by a key that is not here`)
  const forged = heads.find(isForged)
  if (forged !== undefined) return { ...report, fault: 'forged', head: forged }
  const cut = cutAt(walked.records, heads, noted)
  if (cut !== null) return { ...report, fault: 'cut', brokenAt: walked.records + 1, head: cut.head }
  for (const head of heads) {
    const [record] = await journal.read({ limit: 1, after: head.size - 1 })
    if (record?.hash !== head.hash) return { ...report, fault: 'rewritten', brokenAt: head.size, head }
  }
  const vouched = Math.max(0, ...heads.filter((head) => !isForeign(head)).map(({ size }) => size))
  const isExpected = noted !== null || heads.length > 0 || walked.records >= LIMITS.headRecords
  return isExpected && vouched < (noted ?? 1) ? { ...report, fault: 'unvouched' } : report
}

/** What counts more records than there are: a head, or else the note of one. */
function cutAt(records: number, heads: readonly Head[], noted: number | null): { head: Head | null } | null {
  const longest = heads.toSorted((a, b) => b.size - a.size)[0] ?? null
  if (longest !== null && longest.size > records) return { head: longest }
  return noted !== null && noted > records ? { head: null } : null
}

/** The first record that holds nothing, though no person had what its call was made with erased. */
async function emptiedIn(erased: Verified['erased'], journal: Journal): Promise<number | null> {
  for (const { seq, call_id } of erased) {
    const asked = await journal.read({
      operation: ERASE,
      tool: call_id,
      status: 'allow',
      after: seq,
      limit: 1,
    })
    if (asked.length === 0) return seq
  }
  return null
}

async function headsOf(file: string): Promise<{ heads: readonly Head[]; notes: readonly string[] }> {
  try {
    const { heads, unreadable } = await readHeads(file)
    const notes = unreadable === 0 ? [] : [`${unreadable} lines of "${file}" cannot be read`]
    return { heads, notes }
  } catch (error) {
    return { heads: [], notes: [`the heads cannot be read: ${messageOf(error)}`] }
  }
}

/** Whoever has replaced the key has heads of the one before: what they say is compared all the same. */
function judgeOf(ownKey: OwnKey): Readonly<Record<'isForged' | 'isForeign', (head: Head) => boolean>> {
  const key = ownKey.read()
  const isForeign = (head: Head): boolean => head.key !== key?.fingerprint
  return {
    isForeign,
    isForged: (head) => !isForeign(head) && key?.verify(statementOf(head), head.signature) !== true,
  }
}
