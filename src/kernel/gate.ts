import { approval } from './approval.ts'
import { arrive } from './arrive.ts'
import { audit } from './audit.ts'
import { breaker } from './breaker.ts'
import { budget } from './budget.ts'
import type { Call, Outcome } from './call.ts'
import { checkpoint } from './checkpoint.ts'
import { commit } from './commit.ts'
import { endings } from './endings.ts'
import { guardTalk } from './guard-talk.ts'
import { waiterOf } from './holder.ts'
import type { Means } from './means.ts'
import { permission } from './permission.ts'
import { decide } from './policy/decide.ts'
import type { Demand } from './policy/rule.ts'
import { rate } from './rate.ts'

/** One step of the gate: it may refuse, and what it lets through goes on to the next. */
export type Stage = (call: Call, next: Next, means: Means) => Promise<Outcome>
type Next = () => Promise<Outcome>

/** Outermost first: audit stands outside, so that refusals are recorded too. */
const STAGES: readonly Stage[] = [
  audit,
  arrive,
  endings,
  permission,
  breaker,
  rate,
  budget,
  approval,
  checkpoint,
  commit,
]

/** The one door to side effects. */
export function gate(call: Call, means: Means): Promise<Outcome> {
  const perform: Next = () => performWork(call, means)
  return STAGES.reduceRight<Next>((next, stage) => () => stage(call, next, means), perform)()
}

async function performWork(call: Call, means: Means): Promise<Outcome> {
  const { work, ticket, warnings, seen, policy } = call
  if (work === null) throw new TypeError('a call without work came through the gate')
  /** By the same layers that judged the call: nobody is asked once it runs. */
  const may = (demand: Demand): boolean => decide(policy?.layers ?? [], [demand], null).effect === 'allow'
  const { ask, tell } = guardTalk(call, means)
  const { signal, report, capabilities, logLevel } = ticket
  const { data, warnings: found } = await work.perform({
    waiter: waiterOf(call),
    seen,
    mayRead: (path) => may({ op: 'read', path, isChosen: true }),
    mayReach: (host, method) => may({ op: 'net', host, method, isChosen: true }),
    signal,
    report,
    ask,
    tell,
    capabilities,
    logLevel,
  })
  return {
    status: work.status ?? 'success',
    data,
    itemId: work.item.id,
    action: work.action,
    chain: work.chain.map(({ id }) => id),
    warnings: [...work.warnings, ...warnings, ...found],
  }
}
