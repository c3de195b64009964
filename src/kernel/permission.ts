import { VOUCHED } from '../chain/trust.ts'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import { textOf } from '../shared/template.ts'
import type { Call, Outcome, Work } from './call.ts'
import type { Stage } from './gate.ts'
import { decide } from './policy/decide.ts'
import type { Policy } from './policy/policy.ts'
import { policyFaultText } from './policy/policy-fault.ts'
import type { Verdict } from './policy/rule.ts'
import { resourceOf } from './policy/rule.ts'
import { withWhole } from './whole-demands.ts'

/** Every layer must agree. A dry run ends here, with what would have been decided. */
export const permission: Stage = (call, next, { policyOf }) => {
  const { work } = call
  if (work === null) throw new TypeError('a call came to be judged before it was worked out')
  const policy = work.policy ?? policyOf(call.projectPath, call.sessionProject)
  const judge = (known: Policy): Promise<Outcome> => judged(call, work, known, next)
  return policy instanceof Promise ? policy.then(judge) : judge(policy)
}

async function judged(
  call: Call,
  workedOut: Work,
  known: Policy,
  next: () => Promise<Outcome>,
): Promise<Outcome> {
  const policy = withRun(known, call)
  call.policy = policy
  assertReadable(policy, workedOut)
  const whole = withWhole(workedOut, policy.layers)
  const work = whole instanceof Promise ? await whole : whole
  call.work = work
  const verdict = ofNoReturn(decide(policy.layers, work.demands, parametersOf(call, work)), work, policy)
  call.verdict = verdict
  if (call.isDryRun) return rehearsal(work, verdict)
  if (verdict.effect === 'deny') throw inRunOf(call, denied(verdict, work))
  return next()
}

/** Where a file says so, a person is asked about what cannot be undone. */
function ofNoReturn(
  verdict: Verdict,
  { undo, noReturn, ifAsked }: Work,
  { asksIrreversible }: Policy,
): Verdict {
  if (asksIrreversible === null || verdict.effect !== 'allow') return verdict
  const isFinal = undo?.tier === 'never' || noReturn !== undefined
  if (!isFinal || ifAsked !== undefined) return verdict
  const { place, path } = asksIrreversible
  return {
    ...verdict,
    effect: 'ask',
    layer: `${place} harness`,
    rule: `${place}/irreversible`,
    remedy: `A person is asked about it, because "irreversible" in ${path} says so`,
  }
}

function withRun(policy: Policy, { run, work }: Call): Policy {
  return run === null || work?.endsRun !== undefined
    ? policy
    : { ...policy, layers: [...policy.layers, ...run.layers] }
}

/** What cannot be read might have forbidden anything. Questions are answered, and a no is taken, all the same. */
function assertReadable({ faults }: Policy, work: Work): void {
  const [first] = faults
  if (first === undefined || work.isQuestion === true || work.isRefusal === true) return
  throw new KiwiError('POLICY_ERROR', `Cannot ${work.action} "${work.item.id}": ${policyFaultText(first)}`, {
    hint: `Correct ${first.file} at line ${first.line}: until it is mended nothing runs and nothing is written`,
    details: { faults },
  })
}

/** What rules with a condition look at. */
export function parametersOf({ ticket }: Call, work: Work): JsonObject {
  const given = work.parameters ?? ticket.parameters
  return isJsonObject(given) ? given : {}
}

const REHEARSED: Readonly<Record<Verdict['effect'], string>> = {
  deny: 'would be refused',
  ask: 'would wait for a person to approve it: everything was checked, nothing was run',
  allow: 'is ready: everything was checked, nothing was run',
}

function rehearsal(work: Work, verdict: Verdict): Outcome {
  const { effect, layer, rule, remedy, required } = verdict
  const by = { layer, rule, remedy }
  return {
    status: 'dry_run',
    data: {
      message: `"${work.item.id}" ${REHEARSED[effect]}`,
      ...work.preview(),
      would_ask: effect === 'ask',
      ...(effect === 'ask' ? { asked_by: by } : {}),
      denied_by: effect === 'deny' ? { ...by, required } : null,
    },
    itemId: work.item.id,
    action: work.action,
    chain: work.chain.map(({ id }) => id),
    warnings: work.warnings,
  }
}

export function denied(verdict: Verdict, work: Work): KiwiError {
  const { item, redact } = work
  const { id } = item
  const { layer, rule, demand, remedy, required, reason } = verdict
  const resource = redact(resourceOf(demand))
  const why = rule === null ? `has no rule for it` : `denies it by rule "${rule}"`
  const more = reason === null ? '' : ` (${textOf(redact(reason))})`
  return new KiwiError(
    'PERMISSION_DENIED',
    `Cannot ${verbOf(demand.op)} "${textOf(resource)}"${resource === id ? '' : ` for "${id}"`}: layer "${layer}" ${why}${more}`,
    {
      hint: textOf(redact(`${signingFirst(verdict, work)}${remedy}`)),
      details: { layer, rule, op: demand.op, resource, required: redact(required) },
    },
  )
}

/** Who is refused for a run that the call did not name, and may have forgotten, is told of which. */
function inRunOf({ run }: Call, refused: KiwiError): KiwiError {
  return run === null ? refused : refused.withDetails({ run_id: run.id })
}

/** What nobody vouches for is refused for the program it starts: to grant that would grant far more than to vouch for it. */
function signingFirst({ demand, required }: Verdict, { item, trust = VOUCHED }: Work): string {
  const isUnsigned = demand.op === 'exec' && demand.runsCode === true && trust < VOUCHED
  return isUnsigned && required !== null
    ? `A person who has looked at it signs it: kiwi sign ${item.id}. Otherwise: `
    : ''
}

function verbOf(op: Verdict['demand']['op']): string {
  return { tool: 'use', exec: 'start', net: 'reach', read: 'read', write: 'write', spawn: 'spawn' }[op]
}
