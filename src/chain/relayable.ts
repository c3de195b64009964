import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { asItCame, heldAsText } from '../upstream/read-message.ts'

/** Values of a result that are made into a tree again for whoever cannot page it: all others wait meanwhile. */
const MOST_VALUES = 200_000

/** What a server gave, for whoever sees it whole; fails for what would hold up everybody. */
export function relayable(given: JsonObject, id: string): JsonObject {
  if (heldAsText(given) > MOST_VALUES)
    throw new KiwiError(
      'MESSAGE_TOO_LARGE',
      `Cannot pass on what "${id}" gave: it holds more than ${MOST_VALUES} values`,
      { hint: 'Ask for less at once', retryable: false },
    )
  const result = asItCame(given)
  if (result !== null) return result
  throw new KiwiError('TOO_DEEP', `Cannot pass on what "${id}" gave: it cannot be taken`)
}
