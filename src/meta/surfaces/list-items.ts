import { KiwiError } from '../../shared/errors.ts'
import { sha256 } from '../../shared/json.ts'
import type { ItemType } from '../../shared/tool-type.ts'
import type { Item } from '../../spaces/item.ts'
import type { Lookup } from '../../spaces/lookup.ts'
import type { SearchHit, SearchQuery } from '../../store/store.ts'
import { SPACES } from '../../store/store.ts'
import type { MetaCall } from '../context.ts'
import { itemOf } from '../search.ts'

/** An item of a list, with the id that leads to it. */
export interface Listed {
  readonly item: Item
  readonly id: string
}

interface ListedPage {
  readonly listed: readonly Listed[]
  readonly lookup: Lookup
  readonly next: { readonly nextCursor?: string }
}

interface Asked {
  readonly itemTypes: readonly ItemType[]
  readonly cursor: string | undefined
  /** Entries of a page. */
  readonly size: number
}

/** Items that lists reach; all others are found by search and read by their id. */
const MOST = 1000

/** One page of what search shows of these types, by id. */
export async function listItems({ itemTypes, cursor, size }: Asked, call: MetaCall): Promise<ListedPage> {
  const after = cursor === undefined ? '' : keyIn(cursor)
  const lookup = await call.lookupAt(undefined)
  const hits = await usableHits(itemTypes, lookup, call)
  const left = hits.filter((hit) => keyOf(hit) > after)
  const page = left.slice(0, size)
  await lookup.prefetch(page.filter(({ path }) => path === null).map(({ item_id }) => item_id))
  // What is gone since, or cannot be read, is not listed.
  const found = await Promise.all(page.map((hit) => itemOf(hit, hit.item_id, lookup).catch(() => null)))
  const last = page.at(-1)
  return {
    listed: found.filter((one) => one !== null),
    lookup,
    next: last === undefined || left.length <= size ? {} : { nextCursor: cursorOf(last) },
  }
}

/** What there is of these types, without what nobody may use here, by id. */
export async function usableHits(
  itemTypes: readonly ItemType[],
  lookup: Lookup,
  { store, kernel }: Pick<MetaCall, 'store' | 'kernel'>,
): Promise<readonly SearchHit[]> {
  const { places } = await lookup.syncIndex()
  const judge = await kernel.itemJudge(lookup.projectPath)
  const { hits } = await store.search({ ...EVERYTHING, itemTypes, roots: places })
  const usable = judge.refusesSome
    ? hits.filter(({ item_id: id, tool_type: type, space }) => {
        const known = { id, type, space, executor: null, config: {}, category: null }
        return judge.refusalOf(known) === null
      })
    : hits
  return usable.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
}

const EVERYTHING: Omit<SearchQuery, 'itemTypes' | 'roots'> = {
  words: [],
  spaces: SPACES,
  toolTypes: [],
  category: null,
  tags: [],
  server: null,
  sortBy: 'name',
  limit: MOST,
}

/** One id may stand for several files, and for a directive and a piece of knowledge. */
function keyOf({ item_id: id, tool_type: type, path }: SearchHit): string {
  return `${id} ${type} ${path === null ? '' : sha256(path).slice(0, 16)}`
}

const AFTER = 'after '

function cursorOf(hit: SearchHit): string {
  return Buffer.from(AFTER + keyOf(hit)).toString('base64url')
}

function keyIn(cursor: string): string {
  const text = Buffer.from(cursor, 'base64url').toString('utf8')
  if (text.startsWith(AFTER)) return text.slice(AFTER.length)
  throw new KiwiError('INVALID_PARAMETERS', `Cannot list after "${cursor.slice(0, 64)}": no list gave that`, {
    hint: 'Leave out the cursor to begin with the first page',
    details: { missing: [], invalid: [{ name: 'cursor', reason: 'not a cursor of this list' }] },
  })
}
