import type { JsonValue } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import type { Segment, Template, Tree } from '../shared/template.ts'
import { compileTemplate, textOf } from '../shared/template.ts'
import type { CommandTemplate } from './command-template.ts'
import type { Plan } from './plan.ts'
import type { AuthTemplate, RequestTemplate } from './request-template.ts'

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

/** Where the templates of a plan name variables: what a person is shown before a yes. */
export function secretPlaces({
  item,
  effect,
}: Pick<Plan, 'item' | 'effect'>): ReadonlyMap<string, readonly Place[]> {
  const places = new Map<string, Set<Place>>()
  const note = (place: Place, segments: readonly Segment[]): void => {
    for (const segment of segments) {
      if (segment.kind !== 'variable') continue
      places.set(segment.name, (places.get(segment.name) ?? new Set()).add(place))
    }
  }
  if (effect.kind === 'subprocess') noteCommand(effect.command, note)
  if (effect.kind === 'http_client') noteRequest(effect.request, note)
  // A server is not run by itself, and still started with an environment.
  if (effect.kind === 'none') noteEnvironment(item.manifest.config['env'], note)
  return new Map([...places].map(([name, found]) => [name, [...found]]))
}

type Note = (place: Place, segments: readonly Segment[]) => void

function noteCommand({ command, args, env, cwd, input }: CommandTemplate, note: Note): void {
  for (const { segments } of [command, ...args]) note('arguments', segments)
  for (const [name, { segments }] of env) note(`env:${name}`, segments)
  note('folder', cwd?.segments ?? [])
  note('input', input?.segments ?? [])
}

function noteEnvironment(env: JsonValue | undefined, note: Note): void {
  for (const [name, value] of Object.entries(isJsonObject(env) ? env : {}))
    note(`env:${name}`, compileTemplate(textOf(value), new Set()).segments)
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
