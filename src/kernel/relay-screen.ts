import { KiwiError } from '../shared/errors.ts'
import { allWithoutHidden } from '../shared/hidden.ts'
import type { JsonObject, JsonValue } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import { textOf } from '../shared/template.ts'
import { visible } from '../shared/visible.ts'
import type { Scan } from '../spaces/definitions/scan-definition.ts'
import { isDamning } from '../spaces/definitions/scan-definition.ts'

/** What a server says of itself and its prompts and resources, before a model reads it. */
export interface RelayScreen {
  /** The answer without hidden characters, and without what looks like orders to the model; what was left out, in words. */
  screen(said: Said, around: () => Promise<Around>): Promise<Screened>
  /** Fails for a prompt or a resource that was left out of a list. */
  assertShown(said: Pick<Said, 'server' | 'key' | 'method'>, params: JsonObject): void
}

type Around = Parameters<Scan>[1]

interface Said {
  /** As people say it. */
  readonly server: string
  /** How it is reached. */
  readonly key: string
  /** Null for what the server says of itself. */
  readonly method: string | null
  readonly result: JsonObject
}

interface Screened {
  readonly result: JsonObject
  readonly warnings: readonly string[]
}

/** Lists that models read, and what their parts are got by. */
const LISTS: Readonly<Record<string, { readonly in: string; readonly by: string }>> = {
  'prompts/list': { in: 'prompts', by: 'name' },
  'resources/list': { in: 'resources', by: 'uri' },
  'resources/templates/list': { in: 'resourceTemplates', by: 'uriTemplate' },
  'skills/list': { in: 'skills', by: 'name' },
}

/** What is got by which parameter, after which list. */
const GOT: Readonly<Record<string, { readonly after: string; readonly by: string }>> = {
  'prompts/get': { after: 'prompts/list', by: 'name' },
  'resources/read': { after: 'resources/list', by: 'uri' },
  'resources/subscribe': { after: 'resources/list', by: 'uri' },
  'skills/get': { after: 'skills/list', by: 'name' },
}

/** Names of one server that are kept; more would be a flood of them. */
const MOST_KEPT = 10_000

export function openRelayScreen(scanDefinitions: () => Promise<Scan>): RelayScreen {
  /** What was left out, by server and list. */
  const flagged = new Map<string, Set<string>>()
  const keptUnder = (key: string, list: string): Set<string> => {
    const place = `${key} ${list}`
    const kept = flagged.get(place) ?? new Set<string>()
    flagged.set(place, kept)
    return kept
  }

  return {
    async screen({ server, key, method, result }, around) {
      const list = method === null ? undefined : LISTS[method]
      const parts = list === undefined ? undefined : result[list.in]
      const hasParts = list !== undefined && Array.isArray(parts)
      if (method !== null && !hasParts) return { result: withoutHidden(result), warnings: [] }
      const [scan, beside] = [await scanDefinitions(), await around()]
      const isSuspicious = (part: JsonObject): boolean => isDamning(scan(part, beside))
      if (method === null || !hasParts) return screenSelf(server, result, isSuspicious)
      const kept = keptUnder(key, method)
      const names = parts.map((part: JsonValue) => textOf(isJsonObject(part) ? part[list.by] : ''))
      const isShown = parts.map((part: JsonValue) => isJsonObject(part) && !isSuspicious(part))
      for (const [at, name] of names.entries()) {
        if (isShown[at] === true) kept.delete(name)
        else if (kept.size < MOST_KEPT) kept.add(name)
      }
      const left = names.filter((_, at) => isShown[at] !== true)
      return {
        result: withoutHidden({ ...result, [list.in]: parts.filter((_, at) => isShown[at] === true) }),
        warnings: left.slice(0, MOST_TOLD).map((name) => leftOut(server, `${list.in} "${name}"`)),
      }
    },
    assertShown({ server, key, method }, params) {
      const got = method === null ? undefined : GOT[method]
      if (got === undefined || method === null) return
      const name = textOf(params[got.by])
      const isKept = flagged.get(`${key} ${got.after}`)?.has(name) === true
      const templates = got.by === 'uri' ? flagged.get(`${key} resources/templates/list`) : undefined
      const fits = [...(templates ?? [])].some((template) => name.startsWith(template.split('{', 1)[0] ?? ''))
      if (!isKept && !fits) return
      throw new KiwiError(
        'QUARANTINED',
        `Cannot get "${visible(name).slice(0, 160)}" of "${server}": its definition looks like orders to the model`,
        {
          hint: 'Ask the person whether the server can be trusted',
          details: { reason: 'flagged', server },
        },
      )
    },
  }
}

const MOST_TOLD = 5

/** A name is needed, and the person gave it one. */
function screenSelf(server: string, said: JsonObject, isSuspicious: (part: JsonObject) => boolean): Screened {
  const { instructions = null, serverInfo = {}, capabilities = {} } = said
  const isOrder = isSuspicious({ instructions })
  const isOdd = isJsonObject(serverInfo) && isSuspicious(serverInfo)
  const isLoaded = isJsonObject(capabilities) && isSuspicious({ capabilities })
  return {
    result: withoutHidden({
      ...said,
      ...(isOrder ? { instructions: null } : {}),
      ...(isOdd ? { serverInfo: { name: server, version: '0' } } : {}),
      // What else is declared is what the protocol knows: only these hold words of the server's own.
      ...(isLoaded && isJsonObject(capabilities) ? { capabilities: withoutOwnWords(capabilities) } : {}),
    }),
    warnings: [
      ...(isOrder ? [leftOut(server, 'instructions')] : []),
      ...(isOdd ? [leftOut(server, 'description of itself')] : []),
      ...(isLoaded ? [leftOut(server, 'experimental capabilities')] : []),
    ],
  }
}

function withoutOwnWords({ experimental: _e, extensions: _x, ...known }: JsonObject): JsonObject {
  return known
}

function leftOut(server: string, what: string): string {
  return `${visible(what).slice(0, 160)} of "${server}" left out: looks like orders to the model`
}

function withoutHidden(result: JsonObject): JsonObject {
  const clean = allWithoutHidden(result)
  return isJsonObject(clean) ? clean : {}
}
