import { randomUUID } from 'node:crypto'
import { basename, dirname, join } from 'node:path'

/**
 * A hidden name of its own beside a file or folder: `tmp` is what is not there yet or no longer, `old` is a folder
 * that was moved aside and is still the item while nothing stands in its place.
 */
export function besideOf(target: string, ending: 'tmp' | 'old'): string {
  return join(dirname(target), `.${basename(target)}.${randomUUID()}.${ending}`)
}

const BESIDE = /^\.(.+)\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.(tmp|old)$/

/** What a hidden name stands beside, or null for any other name. */
export function standsBeside(name: string): { readonly name: string; readonly isOld: boolean } | null {
  const [, of, ending] = BESIDE.exec(name) ?? []
  return of === undefined ? null : { name: of, isOld: ending === 'old' }
}
