import { canonicalJson, sha256 } from '../shared/json.ts'
import type { Redact } from '../shared/redact.ts'
import type { SessionCommand } from '../primitives/subprocess/process-session.ts'
import type { Command } from '../primitives/subprocess/command.ts'
import { digestOf } from './compile-plan.ts'
import type { CommandDraft } from './draft-command.ts'
import { draftCommand } from './draft-command.ts'
import type { DraftMeans, Request } from './draft-means.ts'
import type { Hold } from './hold.ts'
import type { Effect, Plan } from './plan.ts'
import { openVariables } from './variables.ts'

/** A tool of an MCP server to be called, and the server to be started when it is not up. */
export interface UpstreamDraft {
  readonly kind: 'mcp'
  readonly toolName: string
  readonly timeoutMs: number
  readonly startupMs: number
  /** Calls of one key share one server: the same content, started the same way, for the same principal. */
  readonly key: string
  readonly server: CommandDraft
  /** The plan of the server itself. */
  readonly served: Plan
}

type UpstreamPlan = Plan & { readonly effect: Extract<Effect, { kind: 'mcp' }> }

export function draftUpstream(
  plan: UpstreamPlan,
  request: Request,
  means: DraftMeans,
  hold: Hold | null,
): {
  readonly effect: UpstreamDraft
  readonly hold: Hold | null
  readonly redact: Redact
  readonly warnings: readonly string[]
} {
  const [, server] = plan.items
  if (server === undefined) throw new TypeError('a tool of a server without a server was to be run')
  const { toolName, timeoutMs, startupMs, server: command } = plan.effect
  const items = plan.items.slice(1)
  const effect = { kind: 'subprocess', command, environment: null } as const
  const served = { ...plan, item: server, items, hasFiles: server.filePaths.length > 0, effect }
  // What it may know is granted to the server, whichever of its tools is called.
  const variables = openVariables(
    { item: server, secrets: plan.secrets, digest: digestOf(items) },
    { ...means, projectPath: request.projectPath },
  )
  const circumstances = { request, parameters: {}, variables }
  const started = draftCommand(served, circumstances, { ...means, library: null }, hold)
  variables.assertPlaces(null)
  const workFolder = served.hasFiles ? means.place(server) : null
  const program = sessionOf(
    started.effect.inFolders({ workFolder, runtimeFolder: null, libraryFolder: null }),
  )
  const { principal } = request
  // What Kiwi keeps from every program may lie elsewhere in a moment; the server goes on.
  const { confinement, ...bare } = program
  const heldTo = confinement?.level === 'own' ? 'own' : confinement
  const key = sha256(canonicalJson({ content: server.contentHash, principal, ...bare, heldTo }))
  return {
    ...started,
    hold,
    effect: { kind: 'mcp', toolName, timeoutMs, startupMs, key, server: started.effect, served },
  }
}

/** It outlives the call, so nothing of the call goes with it; how it is started and held stays. */
export function sessionOf(command: Command): SessionCommand {
  const {
    input: _i,
    timeoutMs: _t,
    killGraceMs: _k,
    maxOutputBytes: _m,
    captureOutput: _c,
    ...program
  } = command
  const { KIWI_CALL_ID: _call, ...env } = program.env
  return { ...program, env }
}
