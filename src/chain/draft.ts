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
import type { LineDraft } from './shell/draft-line.ts'
import { draftLine } from './shell/draft-line.ts'
import { literalHost } from './url-template.ts'
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
  | { readonly kind: 'content' }

export function draftCall(plan: Plan, request: Request, means: DraftMeans): Draft {
  if (plan.effect.kind === 'none') throw notRunnable(plan)
  assertSandbox(plan)
  const parameters = checkParameters(plan, request.parameters)
  const digest = grantDigest(plan.digest, means.library)
  const { item, secrets } = plan
  const host = plan.effect.kind === 'http_client' ? literalHost(plan.effect.request.url) : null
  const variables = openVariables(
    { item, secrets, digest, host },
    { ...means, projectPath: request.projectPath },
  )
  const base = { plan, parameters, isReadOnly: item.manifest.mutates_state === false }
  switch (plan.effect.kind) {
    case 'content':
      return { ...base, effect: { kind: 'content' }, redact: keepAll, warnings: [] }
    case 'subprocess': {
      const circumstances = { request, parameters, variables }
      const drafted = draftCommand({ ...plan, effect: plan.effect }, circumstances, means)
      variables.assertPlaces(null)
      return { ...base, ...drafted }
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
      variables.assertPlaces(new URL(rendered.url).host)
      return {
        ...base,
        effect: { kind: 'http_client', request: rendered },
        redact: createRedact(variables.secrets),
        warnings,
      }
    }
  }
}

function notRunnable({ item }: Plan): KiwiError {
  const type = item.manifest.tool_type
  const hint =
    type === 'primitive' || type === 'runtime'
      ? `Create a tool whose executor is "${item.id}" and run that`
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
