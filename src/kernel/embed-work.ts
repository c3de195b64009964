import { VOUCHED } from '../chain/trust.ts'
import type { EmbedOrder } from '../search/embedder.ts'
import { KiwiError } from '../shared/errors.ts'
import type { ItemRef } from '../shared/ids.ts'
import { canonicalJson, sha256 } from '../shared/json.ts'
import type { Watch } from '../shared/progress.ts'
import { redactBoth } from '../shared/redact.ts'
import { textOf } from '../shared/template.ts'
import type { Lookup } from '../spaces/lookup.ts'
import type { Ticket, Work } from './call.ts'
import type { Means } from './means.ts'
import { readVectors } from './read-vectors.ts'
import { runDemands } from './run-demands.ts'
import { linksOf, trustedPlan } from './run-work.ts'

interface Embedding extends EmbedOrder {
  /** The tool that makes the vectors. */
  readonly tool: ItemRef
  readonly model: string | null
}

/**
 * A tool run to make vectors: judged as any run of it. They are nothing to show or to keep as a result, and the texts
 * are on record by the items they belong to; a question is in the record of its search.
 */
export async function embedWork(
  { tool, model, kind, texts, about }: Embedding,
  lookup: Lookup,
  ticket: Ticket,
  means: Means,
): Promise<Omit<Work, 'perform'> & { readonly embed: (watch?: Watch) => Promise<readonly Float32Array[]> }> {
  const { plan, spaceRoot, policy, warnings } = await trustedPlan(
    { ref: tool, itemType: 'tool' },
    lookup,
    means,
    ticket,
  )
  if (plan.trust.level < VOUCHED) throw unvouched(plan.item.id)
  const drafted = await means.chain.draft(plan, {
    callId: ticket.callId,
    principal: ticket.caller.principal,
    session: ticket.caller.session,
    parameters: {
      texts: texts.map((text) => textOf(means.secrets.redact(text))),
      kind,
      ...(model === null ? {} : { model }),
    },
    projectPath: lookup.projectPath,
    spaceRoot,
    sandbox: policy.sandbox,
    guardsOwn: policy.guardsOwn,
  })
  const draft = { ...drafted, redact: redactBoth(drafted.redact, means.secrets.redact) }
  const { id, manifest, space } = plan.item
  return {
    item: { id, version: manifest.version, space },
    action: 'run',
    chain: linksOf(plan),
    demands: runDemands(draft, means.own),
    isRepeatable: true,
    isReadOnly: false,
    // A question to a person that nobody has asked for would only be in their way.
    ifAsked: 'refuse',
    parameters: { kind, texts: texts.length, ...(model === null ? {} : { model }), items: about },
    trust: plan.trust.level,
    ...(draft.hold === null ? {} : { heldBy: draft.hold.shown }),
    policy,
    digest: sha256(canonicalJson({ chain: draft.digest, content: plan.item.contentHash })),
    redact: draft.redact,
    preview: () => ({ executor_chain: plan.chain, tool_type: manifest.tool_type }),
    warnings: [...plan.trust.warnings, ...warnings, ...draft.warnings],
    async embed(watch) {
      const { data } = await means.chain.perform(draft, watch)
      return readVectors(id, data, texts.length)
    },
  }
}

/** The person named it once; an agent may have written it anew since, and would choose where all texts go. */
function unvouched(id: string): KiwiError {
  return new KiwiError('UNTRUSTED', `Cannot make vectors with "${id}": no person stands behind it`, {
    hint: `Ask the person to review "${id}" and sign it: kiwi sign ${id}`,
    details: { reason: 'unsigned', tool: id },
  })
}
