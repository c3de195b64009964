import type { Finding } from '../chain/finding.ts'
import { describeFinding } from '../chain/finding.ts'
import type { Plan } from '../chain/plan.ts'
import { unsignedRefusal } from '../chain/trust-refusals.ts'
import type { Validate } from '../chain/validate.ts'
import type { Validated } from '../chain/validated-cache.ts'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import type { Maybe } from '../shared/maybe.ts'
import { after } from '../shared/maybe.ts'
import type { Redact } from '../shared/redact.ts'
import { keepAll } from '../shared/redact.ts'
import type { Stop } from '../shared/stop.ts'
import { textOf } from '../shared/template.ts'
import type { Lookup } from '../spaces/lookup.ts'
import type { Ticket } from './call.ts'
import { assertDirective } from './directive/check-directive.ts'
import type { Means } from './means.ts'
import type { Demand } from './policy/rule.ts'

/** The rules of an item's chain, as a part of the work on it. */
export interface RuleCheck {
  /** The programs it starts; none when equal content was looked at before. */
  readonly demands: readonly Demand[]
  /** What is already known to be worth a warning. */
  readonly warnings: readonly string[]
  /** For a dry run: what would be started. What is refused without starting anything is refused here. */
  preview(): JsonObject
  /** Refuses with all that was found, or gives the warnings that only a program could find. */
  check(signal?: Stop): Maybe<readonly string[]>
}

interface Occasion {
  /** What is refused: to write an item asks for all of its rules, to run it for what would keep it from running. */
  readonly action: string
  readonly ticket: Ticket
  readonly lookup: Lookup
  readonly means: Means
  readonly redact?: Redact
}

export function ruleCheck(plan: Plan, occasion: Occasion): Maybe<RuleCheck> {
  const { action, ticket, lookup, means } = occasion
  const isRun = action === 'run'
  const validate = (said: readonly string[]): Maybe<RuleCheck> =>
    after(means.chain.validate(plan, { callId: ticket.callId, isRun }), (validation) =>
      checkBy(validation, said, plan, occasion),
    )
  // Whether a chain may run is known before it is drafted.
  if (isRun) return validate([])
  const assertMade = async (): Promise<readonly string[]> => {
    await assertMayStart(plan, occasion)
    return assertDirective(plan.item, action, { ...means, lookup })
  }
  return assertMade().then(validate)
}

function checkBy(
  validation: Awaited<ReturnType<Validate>>,
  said: readonly string[],
  plan: Plan,
  { action, redact = keepAll }: Occasion,
): RuleCheck {
  const { programs, found } = validation
  const sort = (validated: Validated): Sorted => sorted(validated, action, redact)
  const known = sort(found)
  return {
    demands: programs.map((program) => ({ op: 'exec', program })),
    warnings: [...said, ...known.warnings],
    preview() {
      assertNone(plan, action, known.findings)
      return programs.length === 0 ? {} : { would_check: programs }
    },
    check: (signal) =>
      after(validation.finish(signal), (whole) => {
        const { findings, warnings } = sort(whole)
        assertNone(plan, action, findings)
        return warnings.filter((warning) => !known.warnings.includes(warning))
      }),
  }
}

/** A rule may name any program: of an executor that may not run, none is started. */
async function assertMayStart(plan: Plan, { action, lookup, means }: Occasion): Promise<void> {
  const named = new Set(plan.rules.rules.flatMap(({ type, tool }) => (type === 'syntax_check' ? [tool] : [])))
  // The item itself is what is being written, and starts nothing.
  const links = plan.trust.links.slice(1).filter(({ item }) => named.has(item.id))
  for (const { refuse } of links) if (refuse !== null) throw refuse(action)
  const unsigned = links.find(({ signature }) => signature !== null && signature.state !== 'signed')
  if (unsigned === undefined) return
  const { signatureRequiredBy } = await means.policyOf(lookup.projectPath)
  if (signatureRequiredBy !== null)
    throw unsignedRefusal(action, plan.item, unsigned.item, signatureRequiredBy)
}

interface Sorted {
  readonly findings: readonly Finding[]
  readonly warnings: readonly string[]
}

/** A script without a shebang runs all the same, since its runtime starts it. */
function sorted({ findings, warnings }: Validated, action: string, redact: Redact): Sorted {
  const isLenient = ({ rule }: Finding): boolean => action === 'run' && rule === 'shebang_required'
  const shown = findings.map((finding) => ({ ...finding, reason: textOf(redact(finding.reason)) }))
  return {
    findings: shown.filter((finding) => !isLenient(finding)),
    warnings: [...warnings, ...shown.filter(isLenient).map(describeFinding)],
  }
}

const MOST_FINDINGS = 50
/** Of them in words. */
const MOST_LISTED = 5

function assertNone({ item }: Plan, action: string, findings: readonly Finding[]): void {
  const [first] = findings
  if (first === undefined) return
  const more = findings.length === 1 ? '' : ` (and ${findings.length - 1} more)`
  const list = findings.slice(0, MOST_LISTED).map(describeFinding).join('; ')
  throw new KiwiError(
    'VALIDATION_FAILED',
    `Cannot ${action} "${item.id}": ${describeFinding(first)}${more}`,
    {
      hint:
        findings.length === 1
          ? `Correct it as the rules of "${first.tool}" ask; details.findings has all that was said`
          : `Correct all of these: ${list}`,
      details: { findings: findings.slice(0, MOST_FINDINGS) },
    },
  )
}
