import { itemTypeOf } from '../shared/tool-type.ts'
import type { Lookup } from '../spaces/lookup.ts'
import { readSignature } from '../spaces/signature-line.ts'
import { signedTextOf } from '../spaces/signed-text.ts'
import type { Terminal } from './terminal.ts'
import { printable } from './terminal.ts'

/** What a project brings along, for the person who is asked to trust it. */
interface Brought {
  readonly count: number
  readonly byType: ReadonlyMap<string, number>
  /** Items without a signature or changed since, and files that cannot be read. */
  readonly doubtful: readonly string[]
}

const MOST_NAMED = 20

export async function projectItems(lookup: Lookup): Promise<Brought> {
  lookup.freshen(true)
  const space = lookup.spaces.find((candidate) => candidate.space === 'project')
  const { items, faults } = (await space?.read([...space.stamps().keys()])) ?? { items: [], faults: [] }
  const byType = new Map<string, number>()
  const doubtful: string[] = []
  for (const item of items) {
    const { id, raw } = item
    const itemType = itemTypeOf(item.manifest.tool_type)
    const text = signedTextOf(item, await item.files())
    byType.set(itemType, (byType.get(itemType) ?? 0) + 1)
    const { state } = readSignature(text ?? '', { itemType, raw })
    if (state !== 'validated') doubtful.push(`${id} (${state === 'unsigned' ? 'unsigned' : 'changed'})`)
  }
  doubtful.push(...faults.map(({ path }) => `${path} (unreadable)`))
  return { count: items.length + faults.length, byType, doubtful }
}

export function showProjectItems({ count, byType, doubtful }: Brought, terminal: Terminal): void {
  const types = [...byType].map(([type, number]) => `${number} ${type}`).join(', ')
  terminal.note(count === 0 ? 'It brings no items yet.' : `It brings ${types}.`)
  for (const name of doubtful.slice(0, MOST_NAMED)) terminal.note(`  ${printable(name)}`)
  if (doubtful.length > MOST_NAMED) terminal.note(`  and ${doubtful.length - MOST_NAMED} more`)
}
