import type { Call, Outcome, Work } from './call.ts'
import { callHash } from './call-hash.ts'
import type { Stage } from './gate.ts'
import type { Verdict } from './policy/rule.ts'
import type { Streak } from './streaks.ts'

/** A call that repeats itself, or a session that keeps being refused, comes before a person. */
export const breaker: Stage = (call, next, { streaks }) => {
  const { work, verdict, ticket } = call
  const isJudged = work !== null && verdict?.effect === 'allow'
  const isHarmless = work?.isReadOnly === true || work?.endsRun !== undefined
  if (!isJudged || ticket.caller.kind !== 'agent' || isHarmless) return next()
  const goOn = (streak: Streak): Promise<Outcome> => {
    const found = findingOf(call, work, streak)
    if (found !== null)
      call.verdict = { ...verdict, effect: 'ask', layer: 'breaker', required: null, ...found }
    return next()
  }
  const streak = streaks.of(call)
  return streak instanceof Promise ? streak.then(goOn) : goOn(streak)
}

/** The third of its kind is asked about. */
const MOST_REPEATS = 2
/** In a row: a person who tries things out is close by, a run is left to itself. */
const MOST_DENIALS = { run: 3, session: 10 }
const MOST_DENIALS_IN_ALL = 20

type Finding = Pick<Verdict, 'rule' | 'reason' | 'remedy'>

function findingOf(call: Call, work: Work, streak: Streak): Finding | null {
  const isRun = call.ticket.runId !== undefined
  if (streak.denials >= MOST_DENIALS[isRun ? 'run' : 'session'] || streak.allDenials >= MOST_DENIALS_IN_ALL) {
    return {
      rule: 'breaker/denials',
      reason: `${streak.allDenials} calls were refused`,
      remedy: 'A person looks at the next call before it runs; read-only ones pass',
    }
  }
  // Outside of a run nobody expects an order of calls: only what comes to the same end again and again is stuck.
  const times = isRun ? streak.repeats : streak.sameEnds
  if (times < MOST_REPEATS || work.isRepeatable || streak.hash !== callHash(call)) return null
  return {
    rule: 'breaker/repeated',
    reason: `the same call was made ${streak.repeats} times in a row`,
    remedy: 'Change the call, or a person looks at it before it runs again',
  }
}
