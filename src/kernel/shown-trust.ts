import type { Trust } from '../chain/trust.ts'
import { TRUST_NAMES } from '../chain/trust.ts'
import type { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'

/** Trust as it is shown to those who ask about an item. */
export interface ShownTrust {
  readonly trust: JsonObject
  /** Of the item itself; of what a server lists, that of the server. */
  readonly signature: JsonObject
  /** Why it would not run now. */
  readonly refusal: KiwiError | null
}

export function shownTrust({ level, links, refusal }: Trust): ShownTrust {
  return {
    trust: {
      level,
      name: TRUST_NAMES[level],
      links: links.map((link) => ({
        tool_id: link.item.id,
        level: link.level,
        name: TRUST_NAMES[link.level],
      })),
    },
    signature: shownSignature(links.find(({ item }) => item.space !== 'mcp')),
    refusal,
  }
}

function shownSignature(link: Trust['links'][number] | undefined): JsonObject {
  const signature = link?.signature ?? null
  if (signature === null) {
    const state = link?.item.space === 'user' ? 'unsigned' : 'builtin'
    return { state, by: null, fingerprint: null, time: null }
  }
  const { state, by, fingerprint, time } = signature
  return { state, by: by !== null && typeof by === 'object' ? by.publisher : by, fingerprint, time }
}
