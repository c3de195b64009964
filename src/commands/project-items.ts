import { join } from 'node:path'
import type { Kiwi } from '../kiwi.ts'
import { KiwiError } from '../shared/errors.ts'
import { isJsonObject } from '../shared/json.ts'
import { textOf } from '../shared/template.ts'
import { itemTypeOf } from '../shared/tool-type.ts'
import { statOf } from '../spaces/disk.ts'
import { folderFiles } from '../spaces/folder-files.ts'
import type { Item } from '../spaces/item.ts'
import type { Lookup } from '../spaces/lookup.ts'
import type { Terminal } from './terminal.ts'
import { printable } from './terminal.ts'

/** What a project brings along, for the person who is asked to trust it. */
interface Brought {
  /** Items, libraries, and files that cannot be read. */
  readonly count: number
  readonly byType: ReadonlyMap<string, number>
  /** How each of its servers is started or reached, whole. */
  readonly servers: readonly string[]
  /** All that nobody known has signed, and files that cannot be read. */
  readonly doubtful: readonly string[]
}

const MOST_NAMED = 20

export async function projectItems({ spaces, chainOf }: Kiwi, project: string): Promise<Brought> {
  const lookup = spaces.at(project)
  lookup.freshen(true)
  const space = lookup.spaces.find((candidate) => candidate.space === 'project')
  const { items, faults } = (await space?.read([...space.stamps().keys()])) ?? { items: [], faults: [] }
  const libraries = librariesOf(project)
  const byType = new Map<string, number>()
  const doubtful: string[] = []
  const servers = items.flatMap((item) => (item.manifest.tool_type === 'mcp_server' ? [startOf(item)] : []))
  for (const item of items) {
    const itemType = itemTypeOf(item.manifest.tool_type)
    byType.set(itemType, (byType.get(itemType) ?? 0) + 1)
    const why = await whyDoubtful(item, lookup, chainOf)
    if (why !== null) doubtful.push(`${item.id} (${why})`)
  }
  if (libraries.length > 0) byType.set('library', libraries.length)
  doubtful.push(...libraries, ...faults.map(({ path }) => `${path} (unreadable)`))
  return { count: items.length + libraries.length + faults.length, byType, servers, doubtful }
}

/** Every word of it: trusting the project lets it start as it is now. */
function startOf({ id, manifest: { config } }: Item): string {
  const { command, args, url, url_template } = config
  const words = [command ?? url ?? url_template ?? '', ...(Array.isArray(args) ? args : [])]
  const names = Object.entries(config).flatMap(([key, value]) =>
    (key === 'env' || key === 'headers') && isJsonObject(value)
      ? Object.entries(value).map(([name, inner]) => `${key} ${name}=${textOf(inner)}`)
      : [],
  )
  return [`${id}: ${words.map((word) => textOf(word)).join(' ')}`, ...names].join(', ')
}

/** A line without a key can be written by anybody. */
async function whyDoubtful(item: Item, lookup: Lookup, chainOf: Kiwi['chainOf']): Promise<string | null> {
  try {
    const { state } = (await chainOf(item, lookup)).signature
    if (state === 'signed') return null
    return state === 'unverified' ? 'changed' : state === 'unsigned' ? 'unsigned' : 'signed by nobody known'
  } catch (error) {
    if (!(error instanceof KiwiError)) throw error
    return 'its chain is broken'
  }
}

/** What the tools of the project may import runs with them, and nobody signs it. */
function librariesOf(project: string): readonly string[] {
  return ['tools/lib', 'scripts/lib'].flatMap((path) => {
    const folder = join(project, '.ai', path)
    if (statOf(folder)?.isDirectory() !== true) return []
    try {
      const files = folderFiles(folder).length
      return files === 0 ? [] : [`.ai/${path} (library of ${files} files)`]
    } catch (error) {
      if (!(error instanceof KiwiError)) throw error
      return [`.ai/${path} (unreadable)`]
    }
  })
}

export function showProjectItems({ count, byType, servers, doubtful }: Brought, terminal: Terminal): void {
  const types = [...byType].map(([type, number]) => `${number} ${type}`).join(', ')
  terminal.note(count === 0 ? 'It brings no items yet.' : `It brings ${types}.`)
  for (const server of servers) terminal.note(`  server ${printable(server)}`)
  for (const name of doubtful.slice(0, MOST_NAMED)) terminal.note(`  ${printable(name)}`)
  if (doubtful.length > MOST_NAMED) terminal.note(`  and ${doubtful.length - MOST_NAMED} more`)
}
