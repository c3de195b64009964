import type { HttpRequest } from '../primitives/http/request.ts'
import type { Fix } from '../shared/errors.ts'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { canonicalJson } from '../shared/json.ts'
import type { Watch } from '../shared/progress.ts'
import type { Redact } from '../shared/redact.ts'
import { createRedact, keepAll } from '../shared/redact.ts'
import type { CommandDraft } from './draft-command.ts'
import { draftCommand, findProgram } from './draft-command.ts'
import type { DraftMeans, Request } from './draft-means.ts'
import type { Hold } from './hold.ts'
import { holdOf } from './hold.ts'
import { mayRunUnvouched, ownHold, policyFolders } from './own-hold.ts'
import { grantDigest } from './library.ts'
import { checkParameters } from './parameters.ts'
import type { Effect, Plan } from './plan.ts'
import { withFloor } from './sandbox.ts'
import { VOUCHED } from './trust.ts'
import { renderRequest } from './render-request.ts'
import type { UpstreamDraft } from './draft-upstream.ts'
import { keptUpstream } from './kept-upstream.ts'
import type { LineDraft } from './shell/draft-line.ts'
import { draftLine } from './shell/draft-line.ts'
import { fillArguments } from '../spaces/definitions/overrides.ts'
import { parameterNames } from '../spaces/input-schema.ts'
import { switchedOff } from '../spaces/switch-on.ts'
import { literalHost } from './url-template.ts'
import { openVariables } from './variables.ts'

/** One call of a plan, worked out to the last argument but not yet made: what is judged is what will run. */
export interface Draft {
  readonly plan: Plan
  readonly parameters: JsonObject
  /** Of all content that runs: the chain, and the library that goes with it. */
  readonly digest: string
  readonly effect: DraftEffect
  /** What its programs are held by; null when nobody asks for it. */
  readonly hold: Hold | null
  readonly redact: Redact
  /** This call changes nothing, as its manifest says, or as is known of the commands it starts. */
  readonly isReadOnly: boolean
  readonly warnings: readonly string[]
  /** The same with what programs give in place of what stands for it; null where nothing has to be asked for. */
  readonly settle: ((watch: Watch) => Promise<Draft>) | null
}

type DraftEffect =
  | CommandDraft
  | LineDraft
  | { readonly kind: 'http_client'; readonly request: HttpRequest }
  | UpstreamDraft
  | { readonly kind: 'content' }

export function draftCall(plan: Plan, request: Request, means: DraftMeans): Draft {
  assertRunnable(plan, request)
  if (plan.effect.kind === 'none') throw notRunnable(plan)
  const parameters = checkParameters(plan, request.parameters)
  const { item, secrets } = plan
  const digest = grantDigest(plan.digest, means.library)
  const isReadOnly = item.manifest.mutates_state === false
  if (plan.effect.kind === 'mcp') {
    const sent = filled(plan, plan.effect, parameters)
    const held = serverHold(plan, request, means)
    const { effect, hold, redact, warnings: found } = keptUpstream(plan, request, means, held)
    const warnings = sent === parameters ? found : [...found, ...notSent(parameters, sent)]
    return { plan, parameters: sent, digest, isReadOnly, effect, hold, redact, warnings, settle: null }
  }
  const base = { plan, parameters, digest, isReadOnly, settle: null }
  const host = plan.effect.kind === 'http_client' ? literalHost(plan.effect.request.url) : null
  const variables = openVariables(
    { item, secrets, digest, host },
    { projectPath: request.projectPath, ...means },
  )
  switch (plan.effect.kind) {
    case 'content':
      return { effect: { kind: 'content' }, hold: null, redact: keepAll, warnings: [], ...base }
    case 'subprocess': {
      const circumstances = { request, parameters, variables }
      const hold = holdFor(plan, request, means, isReadOnly)
      const drafted = draftCommand({ ...plan, effect: plan.effect }, circumstances, means, hold)
      variables.assertPlaces(null)
      return { hold, ...base, ...drafted }
    }
    case 'line': {
      const effect = draftLine(plan.effect.terms, parameters, request, {
        ...means,
        find: (name) => findProgram(name, means, keepAll),
      })
      const hold = holdFor(plan, request, means, effect.isReadOnly)
      return {
        ...base,
        effect: hold === null ? effect : { ...effect, line: heldLine(effect.line, hold) },
        hold,
        isReadOnly: effect.isReadOnly,
        redact: keepAll,
        warnings: hold?.warnings ?? [],
      }
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
        effect: { kind: 'http_client', request: rendered },
        hold: null,
        redact: createRedact(variables.secrets),
        warnings,
        ...base,
      }
    }
  }
}

/** Who gives something else than what goes out must not take the answer for one to what they gave. */
function notSent(given: JsonObject, sent: JsonObject): readonly string[] {
  return Object.keys(given)
    .filter((name) => canonicalJson(given[name]) !== canonicalJson(sent[name]))
    .map((name) => `"${name}" is a person's to set: what was given for it is not used`)
}

/** What goes to a server, with what its overrides fix: that is judged, recorded and sent. */
function filled(
  { item, items: [, server] }: Plan,
  { toolName, sent }: Extract<Effect, { kind: 'mcp' }>,
  parameters: JsonObject,
): JsonObject {
  if (toolName === null) return parameters
  if (sent !== null) {
    if (sent.hidden.length === 0) return fillArguments(sent, parameters)
    // What is needed stays where it is, and is shown.
    const names = parameterNames(item.manifest)
    return fillArguments({ ...sent, hidden: sent.hidden.filter((name) => !names.has(name)) }, parameters)
  }
  throw new KiwiError(
    'PERMISSION_DENIED',
    `Cannot run "${item.id}": "tools" of "${server?.id}" keeps "${toolName}" from agents`,
    {
      hint: 'Use another tool, or ask the person to change "tools" of the server',
      details: { layer: `server ${server?.id}`, rule: 'tools', op: 'tool', resource: item.id },
    },
  )
}

/** What a person switched off stays off, and a server is no tool. */
function assertRunnable(plan: Plan, { isServerMeant }: Request): void {
  const { item, items, effect } = plan
  if (effect.kind !== 'mcp') return
  if (effect.toolName === null && isServerMeant !== true) throw notRunnable(plan)
  const server = effect.toolName === null ? item : items[1]
  if (server?.manifest.enabled === false)
    throw switchedOff(`Cannot run "${item.id}": the server "${server.id}"`, server)
}

function notRunnable({ item, items: [, server] }: Plan): KiwiError {
  const type = item.manifest.tool_type
  const isForeign = type === 'mcp_tool' && server?.space === 'builtin' && item.space !== 'builtin'
  const isDirective = type === 'directive'
  const hint =
    type === 'primitive' || type === 'runtime'
      ? `Create a tool whose executor is "${item.id}" and run that`
      : isForeign
        ? `Use the tools of "${server.id}" that are shipped: others cannot be put on it`
        : isDirective
          ? 'Send it with item_type "directive"'
          : type === 'mcp_server'
            ? `Run one of its tools: ${item.id.replace(/^mcp_/, '')}.<tool>; load shows them`
            : `A ${type} can be searched and loaded, not run`
  return new KiwiError('UNKNOWN_ACTION', `Cannot run "${item.id}": type ${type} is not run by itself`, {
    hint,
    ...(isDirective ? { fix: runIt(item.id) } : {}),
  })
}

function runIt(directive: string): Fix {
  return { call: 'execute', arguments: { item_type: 'directive', action: 'run', item_id: directive } }
}

/** Every command of a line is held by itself: what one leaves in its temporary folder, the next does not find. */
function heldLine(line: LineDraft['line'], hold: Hold): LineDraft['line'] {
  const steps = line.steps.map(({ joint, programs }) => ({
    joint,
    programs: programs.map((program) => hold.confine(program, [])),
  }))
  return { ...line, steps }
}

/** Our own server is led by the paths that the gate judged, and has no other work; all other programs are held. */
function serverHold(plan: Plan, request: Request, means: DraftMeans): Hold | null {
  if (plan.effect.kind === 'mcp' && plan.effect.server.kind === 'remote') return null
  const isOurs =
    plan.item.manifest.paths !== undefined && plan.links.every(({ space }) => space === 'builtin')
  return isOurs ? null : holdFor(plan, request, means, false)
}

/** What changes nothing is given nothing to write to; where nobody vouches for that, it is only said. */
function holdFor(plan: Plan, request: Request, means: DraftMeans, isReadOnly: boolean): Hold | null {
  const { item, sandbox, trust } = plan
  const wish = withFloor(sandbox, request.sandbox ?? null)
  // A line that only reads still follows links that an agent may have laid.
  const isKnown = isReadOnly && trust.level >= VOUCHED && plan.effect.kind !== 'line'
  const { projectPath, guardsOwn = null } = request
  if (wish === null && (guardsOwn === null || isKnown || !mayRunUnvouched(plan))) return null
  const { sandboxHost: host, own } = means
  if (host === null) throw new TypeError('a call that is to be held came without what holds')
  const policies = [...(guardsOwn ?? []), ...policyFolders(projectPath)]
  const held = { host, own, projectPath, policies }
  return wish === null ? ownHold(held) : holdOf(item.id, isReadOnly ? { ...wish, write: [] } : wish, held)
}
