import type { HttpRequest } from '../primitives/http/request.ts'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject, JsonValue } from '../shared/json.ts'
import type { Template, Values } from '../shared/template.ts'
import { renderText } from '../shared/template.ts'
import { renderBody } from './body-template.ts'
import type { AuthTemplate, RequestTemplate } from './request-template.ts'
import type { Place } from './secret-places.ts'
import { authHeader } from './secret-places.ts'
import { renderUrl } from './url-template.ts'
import type { Variables } from './variables.ts'

interface RenderedRequest {
  readonly request: HttpRequest
  readonly warnings: readonly string[]
}

/** A call as one request, with its address, headers and body filled in. */
export function renderRequest(
  template: RequestTemplate,
  parameters: JsonObject,
  variables: Variables,
  isIdempotent: boolean | null,
): RenderedRequest {
  const parameter = (name: string): JsonValue | undefined =>
    Object.hasOwn(parameters, name) ? parameters[name] : undefined
  const strictAt = (place: Place): Values => ({
    parameter,
    variable: (segment) => variables.required(segment, place),
  })
  const headers: Record<string, string> = {}
  for (const [name, value] of template.headers)
    headers[name] = headerValue(name, renderText(value, strictAt(`header:${name}`)))
  const auth = renderAuth(template.auth, strictAt, variables)
  if (auth.header !== null) headers[auth.header.name] = headerValue(auth.header.name, auth.header.value)
  const body =
    template.body === null
      ? null
      : renderBody(
          template.body,
          { parameter, variable: (segment) => variables.optional(segment, 'body') },
          headers['content-type'],
        )
  return {
    request: {
      method: template.method,
      url: renderUrl(template.url, strictAt('address')),
      headers: withContentType(headers, body),
      body,
      timeoutMs: template.timeoutMs,
      retries: template.retries,
      retryDelayMs: template.retryDelayMs,
      retryableStatuses: template.retryableStatuses,
      isIdempotent,
      maxResponseBytes: template.maxResponseBytes,
      maxRedirects: template.maxRedirects,
    },
    warnings: auth.warnings,
  }
}

/** A line break in a value would start a header of its own. */
function headerValue(name: string, value: string): string {
  if (!/[\r\n\0]/.test(value)) return value
  throw new KiwiError('INVALID_PARAMETERS', `Cannot send header "${name}": its value holds a line break`, {
    details: { missing: [], invalid: [{ name, reason: 'holds a line break' }] },
  })
}

function renderAuth(
  auth: AuthTemplate | null,
  strictAt: (place: Place) => Values,
  variables: Variables,
): { header: { name: string; value: string } | null; warnings: readonly string[] } {
  if (auth === null) return { header: null, warnings: [] }
  const values = strictAt(`header:${authHeader(auth)}`)
  const render = (template: Template): string => renderText(template, values)
  const send = (name: string, value: string, isEmpty: boolean) =>
    isEmpty
      ? { header: null, warnings: [`auth "${auth.type}" is empty: no credentials were sent`] }
      : { header: { name, value }, warnings: [] }
  switch (auth.type) {
    case 'bearer': {
      const token = render(auth.token)
      return send(authHeader(auth), `Bearer ${token}`, token === '')
    }
    case 'basic': {
      const pair = `${render(auth.username)}:${render(auth.password)}`
      const encoded = Buffer.from(pair).toString('base64')
      variables.derive('authorization', encoded)
      return send(authHeader(auth), `Basic ${encoded}`, pair === ':')
    }
    case 'api_key': {
      const key = render(auth.key)
      return send(authHeader(auth), key, key === '')
    }
    case 'raw': {
      const value = render(auth.value)
      return send(authHeader(auth), value, value === '')
    }
  }
}

function withContentType(
  headers: Record<string, string>,
  body: string | null,
): Readonly<Record<string, string>> {
  return body === null || headers['content-type'] !== undefined
    ? headers
    : { ...headers, 'content-type': 'application/json' }
}
