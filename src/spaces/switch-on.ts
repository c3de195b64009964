import { plainName } from '../shared/groups.ts'
import type { Item } from './item.ts'

/** How a person switches a server on. */
export function switchOnHint({ id, space, form }: Pick<Item, 'id' | 'space' | 'form'>): string {
  const isFile = form !== 'entry' && (space === 'project' || space === 'user')
  if (isFile) return `Ask the person to take "enabled: false" out of "${id}" in the ${space} space`
  const where = space === 'project' ? ' --to project' : ''
  return `Ask the person to run: kiwi add ${plainName(id)}${where}`
}
