import { whyNotHeader } from '../primitives/http/request.ts'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject, JsonValue } from '../shared/json.ts'
import { isObject } from '../shared/json.ts'
import type { Template, Tree } from '../shared/template.ts'
import { compileTemplate, textOf } from '../shared/template.ts'
import { compileBody } from './body-template.ts'
import { numberOf, timeoutMsOf } from './command-template.ts'
import type { UrlTemplate } from './url-template.ts'
import { compileUrl } from './url-template.ts'

/** The config of a chain that ends in `http_client`, compiled. */
export interface RequestTemplate {
  readonly method: string
  readonly url: UrlTemplate
  readonly headers: readonly (readonly [string, Template])[]
  readonly auth: AuthTemplate | null
  readonly body: Tree | null
  readonly transform: string | null
  readonly timeoutMs: number
  readonly retries: number
  readonly retryDelayMs: number
  readonly retryableStatuses: readonly number[]
  readonly maxResponseBytes: number
  readonly maxRedirects: number
}

/** Credentials: the header they go to is fixed by the kind, never by a value. */
export type AuthTemplate =
  | { readonly type: 'bearer'; readonly token: Template }
  | { readonly type: 'basic'; readonly username: Template; readonly password: Template }
  | { readonly type: 'api_key'; readonly key: Template; readonly header: string }
  | { readonly type: 'raw'; readonly value: Template }

export function compileRequest(config: JsonObject, parameters: ReadonlySet<string>): RequestTemplate {
  const headers = Object.entries(isObject(config['headers']) ? config['headers'] : {})
  for (const [name] of headers) assertHeaderName(name)
  const body = config['body'] ?? config['body_template'] ?? null
  return {
    method: textOf(config['method']).toUpperCase(),
    url: compileUrl(textOf(config['url'] ?? config['url_template']), parameters),
    headers: headers.map(
      ([name, value]) => [name.toLowerCase(), compileTemplate(textOf(value), parameters)] as const,
    ),
    auth: compileAuth(config['auth']),
    body: body === null ? null : compileBody(body, contentTypeOf(headers), parameters),
    transform: typeof config['response_transform'] === 'string' ? config['response_transform'] : null,
    timeoutMs: timeoutMsOf(config),
    retries: numberOf(config, 'retries'),
    retryDelayMs: numberOf(config, 'retry_delay') * 1000,
    retryableStatuses: statusesOf(config['retryable_statuses']),
    maxResponseBytes: numberOf(config, 'max_response_bytes'),
    maxRedirects: numberOf(config, 'max_redirects'),
  }
}

function contentTypeOf(headers: readonly (readonly [string, JsonValue])[]): string | undefined {
  const [, value] = headers.find(([name]) => name.toLowerCase() === 'content-type') ?? []
  return value === undefined ? undefined : textOf(value)
}

/** Parameters never fill credentials. */
function fixed(value: unknown): Template {
  return compileTemplate(textOf(value), new Set())
}

function compileAuth(auth: JsonValue | undefined): AuthTemplate | null {
  if (typeof auth === 'string') return { type: 'raw', value: fixed(auth) }
  if (!isObject(auth)) return null
  switch (textOf(auth['type'] ?? 'bearer')) {
    case 'bearer':
      return { type: 'bearer', token: fixed(auth['token']) }
    case 'basic':
      return { type: 'basic', username: fixed(auth['username']), password: fixed(auth['password']) }
    case 'api_key': {
      const header = textOf(auth['header'] ?? 'X-API-Key')
      assertHeaderName(header)
      return { type: 'api_key', key: fixed(auth['key']), header: header.toLowerCase() }
    }
    default:
      throw new KiwiError('INVALID_CONFIG', `Cannot use auth type "${textOf(auth['type'])}"`, {
        hint: 'Use bearer, basic or api_key',
      })
  }
}

/** Braces are in no name, so no template can choose one. */
function assertHeaderName(name: string): void {
  const why = whyNotHeader(name)
  if (why !== null) throw new KiwiError('INVALID_CONFIG', `Cannot send header "${name}": ${why}`)
}

function statusesOf(value: JsonValue | undefined): readonly number[] {
  return Array.isArray(value) ? value.filter((item): item is number => typeof item === 'number') : []
}
