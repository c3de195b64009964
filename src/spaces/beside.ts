import { randomUUID } from 'node:crypto'
import { basename, dirname, join } from 'node:path'
import { statOf } from './disk.ts'

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

/** Of the names in a folder, what went aside last for an item of this name; null when nothing did. */
export function lastAside(folder: string, name: string, listed: readonly string[]): string | null {
  const asides = listed.filter((other) => {
    const beside = standsBeside(other)
    return beside?.isOld === true && beside.name === name
  })
  const time = (aside: string): number => statOf(join(folder, aside))?.ctimeMs ?? 0
  return asides.toSorted((a, b) => time(b) - time(a))[0] ?? null
}
