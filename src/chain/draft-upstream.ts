import { KiwiError } from '../shared/errors.ts'
import { canonicalJson, isJsonObject, sha256 } from '../shared/json.ts'
import type { Redact } from '../shared/redact.ts'
import { createRedact } from '../shared/redact.ts'
import type { VariableSegment } from '../shared/template.ts'
import { renderTree, textOf } from '../shared/template.ts'
import type { LoginTarget } from '../upstream/oauth/terms.ts'
import { readTerms } from '../upstream/oauth/terms.ts'
import type { HttpRequest } from '../primitives/http/request.ts'
import type { SessionCommand } from '../primitives/subprocess/process-session.ts'
import type { Command } from '../primitives/subprocess/command.ts'
import { serverName } from '../shared/groups.ts'
import type { Item } from '../spaces/item.ts'
import type { CommandTemplate } from './command-template.ts'
import { digestOf } from './compile-plan.ts'
import type { CommandDraft } from './draft-command.ts'
import { draftCommand } from './draft-command.ts'
import type { DraftMeans, Request } from './draft-means.ts'
import type { Hold } from './hold.ts'
import { namedHost } from './http-clients.ts'
import type { Effect, Plan } from './plan.ts'
import { renderRequest } from './render-request.ts'
import { neededBy } from './secret-places.ts'
import type { RemoteTransport, ServerTemplate } from './server-template.ts'
import { literalHost } from './url-template.ts'
import type { Variables } from './variables.ts'
import { openVariables } from './variables.ts'

/** A tool of an MCP server to be called, or the server itself, and how it is reached when there is no connection. */
export interface UpstreamDraft {
  readonly kind: 'mcp'
  /** Null for the server itself. */
  readonly toolName: string | null
  /** See `Effect`. */
  readonly isTask: boolean
  readonly timeoutMs: number
  readonly startupMs: number
  readonly keepAliveMs: number
  readonly waitsMs: readonly number[] | undefined
  /** Calls of one key share one connection: the same content, reached the same way, for the same principal. */
  readonly key: string
  /** What its definitions are kept under: see `Effect`. */
  readonly identity: string
  readonly server: ServerDraft
  /** It is spoken to in the older era, whatever else it speaks. */
  readonly isOlder: boolean
  /** The plan of the server itself. */
  readonly served: Plan
}

type ServerDraft =
  | { readonly kind: 'stdio'; readonly command: CommandDraft }
  | {
      readonly kind: 'remote'
      readonly transport: RemoteTransport
      /** Where it is, with every header; nothing of what will be said to it. */
      readonly request: HttpRequest
      /** Who logs in to it; null where its headers hold a key. */
      readonly login: LoginTarget | null
    }

type UpstreamPlan = Plan & { readonly effect: Extract<Effect, { kind: 'mcp' }> }

export interface DraftedUpstream {
  readonly effect: UpstreamDraft
  readonly hold: Hold | null
  readonly redact: Redact
  readonly warnings: readonly string[]
}

export function draftUpstream(
  plan: UpstreamPlan,
  request: Request,
  means: DraftMeans,
  hold: Hold | null,
): DraftedUpstream {
  const { server: template, isPerSession, ...effect } = plan.effect
  const items = effect.toolName === null ? plan.items : plan.items.slice(1)
  const [server] = items
  if (server === undefined) throw new TypeError('a tool of a server without a server was to be run')
  const served = { ...plan, item: server, items, hasFiles: server.filePaths.length > 0 }
  const host = template.kind === 'remote' ? literalHost(template.request.url) : null
  // What it may know is granted to the server, whichever of its tools is called.
  const variables = openVariables(
    { item: server, secrets: plan.secrets, digest: digestOf(items), host },
    { ...means, projectPath: request.projectPath },
  )
  // One without its token would start, and then fail in words that name neither.
  variables.assertReady(neededBy(template))
  const { draft, reached, redact, warnings } =
    template.kind === 'stdio'
      ? draftStdio(served, template, { request, variables, means, hold })
      : draftRemote(served, template, variables, request.principal)
  const { principal, session = null, isOlder = false } = request
  const whose = isPerSession || isOlder ? { principal, session, isOlder } : { principal }
  const key = sha256(canonicalJson({ content: server.contentHash, ...whose, ...reached }))
  return {
    hold: template.kind === 'stdio' ? hold : null,
    redact,
    warnings,
    effect: { ...effect, key, isOlder, server: draft, served },
  }
}

interface DraftedServer {
  readonly draft: ServerDraft
  /** What tells its connection from others. */
  readonly reached: Readonly<Record<string, unknown>>
  readonly redact: Redact
  readonly warnings: readonly string[]
}

interface Circumstances {
  readonly request: Request
  readonly variables: Variables
  readonly means: DraftMeans
  readonly hold: Hold | null
}

function draftStdio(
  served: Plan,
  { command }: Extract<ServerTemplate, { kind: 'stdio' }>,
  { request, variables, means, hold }: Circumstances,
): DraftedServer {
  const plan = { ...served, effect: { kind: 'subprocess', command, environment: null } as const }
  const circumstances = { request, parameters: {}, variables }
  const { effect, ...rest } = asServer(served.item, command, () =>
    draftCommand(plan, circumstances, { ...means, library: null }, hold),
  )
  variables.assertPlaces(null)
  const workFolder = served.hasFiles ? means.place(served.item) : null
  const program = sessionOf(effect.inFolders({ workFolder, runtimeFolder: null, libraryFolder: null }))
  // What Kiwi keeps from every program may lie elsewhere in a moment; the server goes on.
  const { confinement, ...bare } = program
  const heldTo = confinement?.level === 'own' ? 'own' : confinement
  return { ...rest, draft: { kind: 'stdio', command: effect }, reached: { ...bare, heldTo } }
}

const NO_PROGRAM: ReadonlyMap<string, string> = new Map([
  ['COMMAND_NOT_FOUND', 'is not on the PATH'],
  ['COMMAND_NOT_EXECUTABLE', 'may not be executed'],
])

/** A server whose program is missing is told in words of a server, with what was tried. */
function asServer<T>({ id, form, path }: Item, { command, args }: CommandTemplate, draft: () => T): T {
  try {
    return draft()
  } catch (error) {
    const why = error instanceof KiwiError ? NO_PROGRAM.get(error.code) : undefined
    if (!(error instanceof KiwiError) || why === undefined) throw error
    const name = textOf(error.details['command'])
    const key = form === 'entry' ? '"command"' : 'config.command'
    throw new KiwiError(
      error.code,
      `Cannot start the server "${serverName(id)}": its command "${name}" ${why}`,
      {
        hint: `Install ${name}, or correct ${key} in ${path ?? `"${id}"`}`,
        cause: error,
        details: {
          ...error.details,
          server: id,
          // As they are written: nothing is filled in.
          tried: { transport: 'stdio', command: command.source, args: args.map(({ source }) => source) },
        },
      },
    )
  }
}

function draftRemote(
  served: Plan,
  { transport, request: template, oauth }: Extract<ServerTemplate, { kind: 'remote' }>,
  variables: Variables,
  principal: string,
): DraftedServer {
  const { request: rendered, warnings } = renderRequest(template, {}, variables, null)
  const { url, headers } = rendered
  const id = serverName(served.item.id)
  const values = {
    parameter: () => undefined,
    variable: (segment: VariableSegment) => variables.required(segment, 'body'),
  }
  const terms = oauth === null ? null : renderTree(oauth, values)
  variables.assertPlaces(new URL(url).host)
  const hasKey = oauth === null && (template.auth !== null || 'authorization' in headers)
  const login = hasKey
    ? null
    : {
        id,
        url,
        principal,
        terms: readTerms(id, isJsonObject(terms) ? terms : null),
        named: namedHost(served),
      }
  const request = { ...rendered, method: transport === 'http' ? 'POST' : 'GET' }
  return {
    draft: { kind: 'remote', transport, request, login },
    reached: { transport, url, headers, terms },
    redact: createRedact(variables.secrets),
    warnings,
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
