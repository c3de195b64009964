import { KiwiError } from '../shared/errors.ts'
import { serverName } from '../shared/groups.ts'
import { LIMITS } from '../shared/limits.ts'
import { TYPE_RULES } from '../shared/tool-type.ts'
import type { Item } from '../spaces/item.ts'
import type { Lookup } from '../spaces/lookup.ts'
import { unreadServers } from '../spaces/not-found.ts'
import { SPACES } from '../store/store.ts'
import type { PlanLink } from './plan.ts'

/** Follows executor by executor from an item down to its primitive, or to the item itself if it needs none. */
export async function walk(
  leaf: Item,
  lookup: Pick<Lookup, 'executorOf' | 'spaces'>,
): Promise<readonly Item[]> {
  const items: Item[] = [leaf]
  const seen = new Set<string>([leaf.id])
  for (let item = leaf; item.manifest.executor !== null;) {
    const executor = item.manifest.executor
    const chain = [...items.map(({ id }) => id), executor]
    if (seen.has(executor)) {
      throw new KiwiError('EXECUTOR_CYCLE', `Cannot run "${leaf.id}": its chain loops at "${executor}"`, {
        details: { chain },
      })
    }
    if (items.length >= LIMITS.chainLinks) {
      throw new KiwiError(
        'EXECUTOR_TOO_DEEP',
        `Cannot run "${leaf.id}": its chain has over ${LIMITS.chainLinks} links`,
        {
          details: { chain },
        },
      )
    }
    const next = await lookup.executorOf(item)
    if (next === null) throw executorMissing(item, executor, chain, lookup)
    items.push(next)
    seen.add(executor)
    item = next
  }
  assertKinds(items)
  return items
}

export function toLinks(items: readonly Item[]): readonly PlanLink[] {
  return items.map(({ id, manifest, space }, depth) => ({
    depth,
    tool_id: id,
    tool_type: manifest.tool_type,
    executor_id: manifest.executor,
    version: manifest.version,
    space,
  }))
}

function executorMissing(
  item: Item,
  executor: string,
  chain: readonly string[],
  lookup: Pick<Lookup, 'spaces'>,
): KiwiError {
  if (item.manifest.tool_type === 'mcp_tool') return serverGone(item, executor, chain, unreadServers(lookup))
  return new KiwiError(
    'EXECUTOR_MISSING',
    `Cannot run "${chain[0]}": "${item.id}" needs the executor "${executor}", which does not exist`,
    {
      hint: `Create it in the space "${item.space}" or one behind it (${SPACES.join(', ')}), or correct its name`,
      fix: { call: 'search', arguments: { query: executor.replaceAll('_', ' '), tool_type: 'runtime' } },
      details: { tool: item.id, executor, chain },
    },
  )
}

/** What was discovered stays when its server is taken out. */
function serverGone(
  item: Item,
  executor: string,
  chain: readonly string[],
  unread: string | null,
): KiwiError {
  const name = serverName(executor)
  const again = `kiwi add ${name.replace(/^mcp_/, '')} -- COMMAND`
  return new KiwiError(
    'EXECUTOR_MISSING',
    `Cannot run "${chain[0]}": there is no server "${name}" any more`,
    {
      hint:
        unread === null
          ? `Ask the person to add it again: ${again}; or delete "${item.id}"`
          : `It may stand where nothing can be read. ${unread}`,
      fix: { call: 'search', arguments: { query: 'mcp:*' } },
      details: { tool: item.id, executor, chain },
    },
  )
}

/** The end must be a primitive unless the leaf needs no executor, and every link the kind the one above it needs. */
function assertKinds(items: readonly Item[]): void {
  const [leaf] = items
  const last = items.at(-1)
  if (leaf === undefined || last === undefined) return
  if (TYPE_RULES[last.manifest.tool_type].executor !== null) {
    throw new KiwiError(
      'NO_PRIMITIVE',
      `Cannot run "${leaf.id}": its chain ends at "${last.id}", which has no executor`,
      {
        details: { tool: last.id, chain: items.map(({ id }) => id) },
      },
    )
  }
  for (const [at, item] of items.entries()) {
    const needed = TYPE_RULES[item.manifest.tool_type].executor
    const next = items[at + 1]
    if (next === undefined) continue
    const fits =
      needed !== null && ('id' in needed ? next.id === needed.id : next.manifest.tool_type === needed.type)
    if (fits) continue
    const wanted = needed === null ? 'none' : 'id' in needed ? `"${needed.id}"` : `a ${needed.type}`
    throw new KiwiError(
      'INVALID_MANIFEST',
      `Cannot run "${leaf.id}": the executor of "${item.id}" is "${next.id}", a ${next.manifest.tool_type}; it needs ${wanted}`,
      {
        details: { invalid: [{ name: 'executor', reason: `a ${item.manifest.tool_type} needs ${wanted}` }] },
      },
    )
  }
}
