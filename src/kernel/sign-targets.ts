import { KiwiError } from '../shared/errors.ts'
import { fitsGlob } from '../shared/glob.ts'
import { itemTypeOf } from '../shared/tool-type.ts'
import type { Fault } from '../spaces/file-space.ts'
import type { Item } from '../spaces/item.ts'
import type { Lookup } from '../spaces/lookup.ts'
import { notFound } from '../spaces/not-found.ts'
import { assertOwnFile } from './assert-own-file.ts'
import type { Wish } from './call.ts'

interface Targets {
  readonly items: readonly Item[]
  /** Files that fit by name and cannot be read. */
  readonly faults: readonly Fault[]
}

/** The items that are meant: one by its id, or all of a file space whose id or path fits. */
export async function signTargets(
  { target, itemType, location, category }: Extract<Wish, { kind: 'sign' }>,
  lookup: Lookup,
): Promise<Targets> {
  if (!('pattern' in target)) {
    const ref = category === null ? target : { ...target, category }
    const item = await lookup.find(ref, itemType, location ?? undefined)
    if (item === null) throw notFound(ref, itemType)
    assertOwnFile('sign', item)
    return { items: [item], faults: [] }
  }
  const { pattern } = target
  const wanted = location ?? (lookup.projectPath === null ? 'user' : 'project')
  const space = lookup.spaces.find((candidate) => candidate.space === wanted)
  if (space === undefined) {
    throw new KiwiError('PROJECT_PATH_REQUIRED', `Cannot sign "${pattern}": ${wanted} has no files here`, {
      hint: 'Give location "project" or "user", or the id of one item',
    })
  }
  const { items, faults } = await space.read([...space.stamps().keys()])
  const fits = ({ id, manifest, form }: Item): boolean =>
    form !== 'entry' &&
    itemTypeOf(manifest.tool_type) === itemType &&
    (category === null || manifest.category === category) &&
    (fitsGlob(pattern, id) || fitsGlob(pattern, `${manifest.category ?? ''}/${id}`))
  const isNamed = ({ path }: Fault): boolean =>
    category === null && fitsGlob(`**/${pattern}`, path.replace(/(?:\/tool)?\.\w+$/, ''))
  const found = items.filter(fits)
  const broken = faults.filter(isNamed)
  if (found.length === 0 && broken.length === 0) {
    throw new KiwiError('NOT_FOUND', `Cannot sign "${pattern}": no ${itemType} in ${wanted} fits`, {
      fix: { call: 'search', arguments: { query: '', source: wanted } },
    })
  }
  return { items: found, faults: broken }
}
