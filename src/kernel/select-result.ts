import { KiwiError } from '../shared/errors.ts'
import type { JsonValue } from '../shared/json.ts'
import { parsePlain } from '../shared/json.ts'
import { selectPath } from '../shared/json-path.ts'

/** What a JSONPath selects from a kept result, as the text that is paged. */
export async function selectFrom(text: string, callId: string, path: string): Promise<string> {
  const whole = parsePlain(text)
  if (whole === undefined)
    throw cannot(callId, 'it is text, and no JSON', 'Leave out what follows the id, and page it with offset')
  const found = await select(whole, callId, path)
  return typeof found === 'string' ? found : JSON.stringify(found)
}

async function select(whole: JsonValue, callId: string, path: string): Promise<JsonValue> {
  try {
    return await selectPath(whole, path)
  } catch (error) {
    if (!(error instanceof KiwiError)) throw error
    throw cannot(callId, error.message, error.hint, error)
  }
}

function cannot(callId: string, reason: string, hint: string, cause?: unknown): KiwiError {
  return new KiwiError('INVALID_PARAMETERS', `Cannot select from the result of call "${callId}": ${reason}`, {
    hint,
    cause,
    details: { missing: [], invalid: [{ name: 'path', reason }] },
  })
}
