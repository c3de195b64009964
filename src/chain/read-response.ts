import type { BodyKind, HttpResult } from '../primitives/http/result.ts'
import { FAILURE_CODES } from '../primitives/http/result.ts'
import { KiwiError } from '../shared/errors.ts'
import { selectPath } from '../shared/json-path.ts'
import type { JsonObject, JsonValue } from '../shared/json.ts'
import type { Plan } from './plan.ts'

/** What a service answered, or the error that says why it is no success. */
export async function readResponse(plan: Plan, host: JsonValue, result: HttpResult): Promise<JsonObject> {
  const { status_code, attempts, failure, error, body_kind } = result
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a body is JSON, or text
  const body = (result.body ?? null) as JsonValue
  const { 'set-cookie': _cookies, ...headers } = result.headers
  const encoding = ENCODINGS[body_kind]
  const answer = { status_code, attempts, ...(encoding === undefined ? {} : { encoding }), headers }
  if (failure !== null) {
    throw new KiwiError(
      FAILURE_CODES[failure],
      `Cannot run "${plan.item.id}": ${reasonOf(error ?? failure)}`,
      {
        ...(failure === 'too_large' ? { hint: 'Ask for less, or raise config.max_response_bytes' } : {}),
        partial: { output: body, ...answer },
        details: {
          failure,
          status_code,
          attempts,
          ...(failure === 'egress_denied' ? egressDetails(host) : {}),
        },
      },
    )
  }
  const transform = plan.effect.kind === 'http_client' ? plan.effect.request.transform : null
  const isSelected = transform !== null && body_kind === 'json'
  return { output: isSelected ? await selectPath(body, transform) : body, ...answer }
}

/** What a text stands for that is not the text of the answer itself. */
const ENCODINGS: Readonly<Partial<Record<BodyKind, string>>> = { base64: 'base64', json_text: 'json' }

/** The primitive's message as the reason of ours. */
function reasonOf(error: string): string {
  return error.replace(/^Cannot /, 'cannot ')
}

function egressDetails(host: JsonValue): JsonObject {
  return {
    layer: 'egress',
    rule: 'public-addresses',
    op: 'net',
    resource: host,
    required: { allow_hosts: [host] },
  }
}
