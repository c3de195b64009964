import { KiwiError } from '../shared/errors.ts'
import { plainName } from '../shared/groups.ts'
import type { Item } from './item.ts'

/** What cannot be done, in words, because a server is switched off; and how a person switches it on. */
export function switchedOff(what: string, server: Item): KiwiError {
  return new KiwiError('UPSTREAM_UNAVAILABLE', `${what} is switched off`, {
    hint: howOn(server),
    retryable: false,
    details: { server: server.id, space: server.space },
  })
}

function howOn({ id, space, form }: Item): string {
  const isFile = form !== 'entry' && (space === 'project' || space === 'user')
  if (isFile) return `Ask the person to take "enabled: false" out of "${id}" in the ${space} space`
  const where = space === 'project' ? ' --to project' : ''
  return `Ask the person to run: kiwi add ${plainName(id)}${where}`
}
