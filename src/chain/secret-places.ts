import { isOpen } from '../config/environment.ts'
import type { Segment, Template, Tree } from '../shared/template.ts'
import { compileTemplate } from '../shared/template.ts'
import type { CommandTemplate } from './command-template.ts'
import type { Plan } from './plan.ts'
import type { AuthTemplate, RequestTemplate } from './request-template.ts'
import type { ServerTemplate } from './server-template.ts'

/** Where a value stands in a call. */
export type Place =
  | `env:${string}`
  | `header:${string}`
  | 'address'
  | 'body'
  | 'arguments'
  | 'folder'
  | 'input'
  | 'call'

/** Whether a grant for this sink reaches a place; `host` is where the request goes. */
export function sinkHolds(sink: string | null, place: Place, host: string | null): boolean {
  return sink === null || sink === place || (host !== null && sink === `host:${host}`)
}

/** A place in words. */
export function showPlace(place: Place, host: string | null): string {
  const at = place.includes(':') ? place : `the ${place}`
  return host === null ? at : `${at} for host:${host}`
}

/** The header that credentials of this kind go to. */
export function authHeader(auth: AuthTemplate): string {
  return auth.type === 'api_key' ? auth.header : 'authorization'
}

/** A program is given what its manifests declare and put nowhere: as the variable of that name. */
export function withDeclared<T extends CommandParts>(command: T, declared: readonly string[]): T {
  const placed = new Set(command.env.map(([name]) => name))
  noteCommand(command, (_, segments) => {
    for (const segment of segments) if (segment.kind === 'variable') placed.add(segment.name)
  })
  const own = [...new Set(declared)].filter((name) => !placed.has(name) && !isOpen(name))
  const env = own.map((name) => [name, compileTemplate(`\${${name}}`, new Set())] as const)
  return own.length === 0 ? command : { ...command, env: [...command.env, ...env] }
}

/** Where the templates of a plan name variables: what a person is shown before a yes. */
export function secretPlaces({ effect }: Pick<Plan, 'effect'>): ReadonlyMap<string, readonly Place[]> {
  const places = new Map<string, Set<Place>>()
  const note = (place: Place, segments: readonly Segment[]): void => {
    for (const segment of segments) {
      if (segment.kind !== 'variable') continue
      places.set(segment.name, (places.get(segment.name) ?? new Set()).add(place))
    }
  }
  if (effect.kind === 'subprocess') noteCommand(effect.command, note)
  if (effect.kind === 'http_client') noteRequest(effect.request, note)
  if (effect.kind === 'mcp') noteServer(effect.server, note)
  return new Map([...places].map(([name, found]) => [name, [...found]]))
}

/** The variables without which a server is not started or reached; one with a default is none of them. */
export function neededBy(server: ServerTemplate): readonly string[] {
  const names = new Set<string>()
  noteServer(server, (_, segments) => {
    for (const segment of segments)
      if (segment.kind === 'variable' && segment.form === 'plain' && !isOpen(segment.name))
        names.add(segment.name)
  })
  return [...names]
}

type Note = (place: Place, segments: readonly Segment[]) => void

/** What of a command may name variables. */
type CommandParts = Pick<CommandTemplate, 'command' | 'args' | 'env' | 'cwd' | 'input'>

function noteCommand({ command, args, env, cwd, input }: CommandParts, note: Note): void {
  for (const { segments } of [command, ...args]) note('arguments', segments)
  for (const [name, { segments }] of env) note(`env:${name}`, segments)
  note('folder', cwd?.segments ?? [])
  note('input', input?.segments ?? [])
}

function noteServer(server: ServerTemplate, note: Note): void {
  if (server.kind === 'stdio') return noteCommand(server.command, note)
  noteRequest(server.request, note)
  if (server.oauth !== null) noteTree(server.oauth, note)
}

function noteRequest({ url, headers, auth, body }: RequestTemplate, note: Note): void {
  note(
    'address',
    url.parts.map(({ segment }) => segment),
  )
  for (const [name, { segments }] of headers) note(`header:${name}`, segments)
  if (auth !== null)
    for (const { segments } of templatesOf(auth)) note(`header:${authHeader(auth)}`, segments)
  if (body !== null) noteTree(body, note)
}

function templatesOf(auth: AuthTemplate): readonly Template[] {
  switch (auth.type) {
    case 'bearer':
      return [auth.token]
    case 'basic':
      return [auth.username, auth.password]
    case 'api_key':
      return [auth.key]
    case 'raw':
      return [auth.value]
  }
}

function noteTree(tree: Tree, note: Note): void {
  switch (tree.kind) {
    case 'constant':
      return
    case 'template':
      note('body', tree.template.segments)
      return
    case 'list':
      for (const item of tree.items) noteTree(item, note)
      return
    case 'object':
      for (const [, item] of tree.entries) noteTree(item, note)
  }
}
