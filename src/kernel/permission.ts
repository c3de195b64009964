import { KiwiError } from '../shared/errors.ts'
import { textOf } from '../shared/template.ts'
import type { Outcome, Work } from './call.ts'
import type { Stage } from './gate.ts'
import { decide } from './policy/decide.ts'
import type { Verdict } from './policy/rule.ts'
import { resourceOf } from './policy/rule.ts'

/** Every layer must agree. A dry run ends here, with what would have been decided. */
export const permission: Stage = async (call, next, { policyOf }) => {
  const { work } = call
  if (work === null) throw new TypeError('a call came to be judged before it was worked out')
  const policy = await policyOf(call.projectPath)
  call.policy = policy
  const verdict = decide(policy.layers, work.demands)
  call.verdict = verdict
  if (call.isDryRun) return rehearsal(work, verdict)
  if (verdict.effect === 'deny') throw denied(verdict, work)
  return next()
}

function rehearsal(work: Work, verdict: Verdict): Outcome {
  const isDenied = verdict.effect === 'deny'
  return {
    status: 'dry_run',
    data: {
      message: isDenied
        ? `"${work.item.id}" would be refused`
        : `"${work.item.id}" is ready: everything was checked, nothing was run`,
      ...work.preview(),
      would_ask: verdict.effect === 'ask',
      denied_by: isDenied ? { layer: verdict.layer, rule: verdict.rule, remedy: verdict.remedy } : null,
    },
    itemId: work.item.id,
    action: work.action,
    chain: work.chain.map(({ id }) => id),
    warnings: work.warnings,
  }
}

export function denied({ layer, rule, demand, remedy }: Verdict, { item: { id }, redact }: Work): KiwiError {
  const resource = redact(resourceOf(demand))
  const reason = rule === null ? `has no rule for it` : `denies it by rule "${rule}"`
  return new KiwiError(
    'PERMISSION_DENIED',
    `Cannot ${verbOf(demand.op)} "${textOf(resource)}" for "${id}": layer "${layer}" ${reason}`,
    {
      hint: remedy,
      details: { layer, rule, op: demand.op, resource, required: remedy },
    },
  )
}

function verbOf(op: Verdict['demand']['op']): string {
  return { tool: 'use', exec: 'start', net: 'reach', read: 'read', write: 'write', spawn: 'spawn' }[op]
}
