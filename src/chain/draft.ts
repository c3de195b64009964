import type { HttpRequest } from '../primitives/http/request.ts'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { isObject } from '../shared/json.ts'
import type { Redact } from '../shared/redact.ts'
import { createRedact, keepAll } from '../shared/redact.ts'
import type { CommandDraft } from './draft-command.ts'
import { draftCommand, findProgram } from './draft-command.ts'
import type { DraftMeans, Request } from './draft-means.ts'
import { grantDigest } from './library.ts'
import { checkParameters } from './parameters.ts'
import type { Plan } from './plan.ts'
import { renderRequest } from './render-request.ts'
import type { UpstreamDraft } from './draft-upstream.ts'
import { draftUpstream } from './draft-upstream.ts'
import type { LineDraft } from './shell/draft-line.ts'
import { draftLine } from './shell/draft-line.ts'
import { openVariables } from './variables.ts'

/** One call of a plan, worked out to the last argument but not yet made: what is judged is what will run. */
export interface Draft {
  readonly plan: Plan
  readonly parameters: JsonObject
  readonly effect: DraftEffect
  readonly redact: Redact
  /** This call changes nothing, as its manifest says, or as is known of the commands it starts. */
  readonly isReadOnly: boolean
  readonly warnings: readonly string[]
}

type DraftEffect =
  | CommandDraft
  | LineDraft
  | { readonly kind: 'http_client'; readonly request: HttpRequest }
  | UpstreamDraft
  | { readonly kind: 'content' }

export function draftCall(plan: Plan, request: Request, means: DraftMeans): Draft {
  if (plan.effect.kind === 'none') throw notRunnable(plan)
  assertSandbox(plan)
  const parameters = checkParameters(plan, request.parameters)
  const base = { plan, parameters, isReadOnly: plan.item.manifest.mutates_state === false }
  if (plan.effect.kind === 'mcp')
    return { ...base, ...draftUpstream({ ...plan, effect: plan.effect }, request, means) }
  const digest = grantDigest(plan.digest, means.library)
  const { item, secrets } = plan
  const variables = openVariables({ item, secrets, digest }, { ...means, projectPath: request.projectPath })
  switch (plan.effect.kind) {
    case 'content':
      return { ...base, effect: { kind: 'content' }, redact: keepAll, warnings: [] }
    case 'subprocess': {
      const circumstances = { request, parameters, variables }
      return { ...base, ...draftCommand({ ...plan, effect: plan.effect }, circumstances, means) }
    }
    case 'line': {
      const effect = draftLine(plan.effect.terms, parameters, request, {
        ...means,
        find: (name) => findProgram(name, means, keepAll),
      })
      return { ...base, effect, isReadOnly: effect.isReadOnly, redact: keepAll, warnings: [] }
    }
    case 'http_client': {
      const isIdempotent = plan.isRepeatable ? true : (plan.item.manifest.idempotent ?? null)
      const { request: rendered, warnings } = renderRequest(
        plan.effect.request,
        parameters,
        variables,
        isIdempotent,
      )
      return {
        ...base,
        effect: { kind: 'http_client', request: rendered },
        redact: createRedact(variables.secrets),
        warnings,
      }
    }
  }
}

function notRunnable({ item, items: [, server] }: Plan): KiwiError {
  const type = item.manifest.tool_type
  const isForeign = type === 'mcp_tool' && server?.space === 'builtin' && item.space !== 'builtin'
  const hint =
    type === 'primitive' || type === 'runtime'
      ? `Create a tool whose executor is "${item.id}" and run that`
      : isForeign
        ? `Use the tools of "${server.id}" that are shipped: others cannot be put on it`
        : `A ${type} can be searched and loaded, not run`
  return new KiwiError('UNKNOWN_ACTION', `Cannot run "${item.id}": type ${type} is not run by itself`, {
    hint,
  })
}

/** No sandbox is built yet: what requires one is refused rather than run bare. */
function assertSandbox({ item, items }: Plan): void {
  const strict = items.find(({ manifest: { sandbox, config } }) =>
    [sandbox, config['sandbox']].some((wanted) => isObject(wanted) && wanted['required'] === true),
  )
  if (strict === undefined) return
  throw new KiwiError(
    'SANDBOX_UNAVAILABLE',
    `Cannot run "${item.id}": "${strict.id}" requires a sandbox, and there is none here`,
  )
}
