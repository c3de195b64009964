import { KiwiError } from '../shared/errors.ts'
import { Category, ItemName } from '../shared/ids.ts'

interface NewId {
  readonly id: string | undefined
  /** Where it is to lie, as the path form of an id says; null for a name alone. */
  readonly category: string | null
}

/** The id of what is to be made: a name, or `category/name`. */
export function readNewId(given: string | undefined): NewId {
  if (given === undefined) return { id: undefined, category: null }
  const slash = given.lastIndexOf('/')
  const id = given.slice(slash + 1)
  const category = slash < 0 ? null : given.slice(0, slash)
  const fault = given.includes('@')
    ? 'a version is no part of it'
    : (reasonOf(ItemName.safeParse(id)) ??
      (category === null ? null : reasonOf(Category.safeParse(category), 'before the last "/" ')))
  if (fault === null) return { id, category }
  throw new KiwiError('INVALID_PARAMETERS', `Cannot create "${given.slice(0, 160)}": "item_id": ${fault}`, {
    hint: 'Give a name or category/name as item_id, and a version as parameters.version',
    details: { missing: [], invalid: [{ name: 'item_id', reason: fault }] },
  })
}

type Read = ReturnType<typeof ItemName.safeParse> | ReturnType<typeof Category.safeParse>

function reasonOf({ error }: Read, where = ''): string | null {
  const reason = error?.issues[0]?.message
  return reason === undefined ? null : `${where}${reason}`
}
