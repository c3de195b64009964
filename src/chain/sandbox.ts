import { z } from 'zod'
import { KiwiError } from '../shared/errors.ts'
import { IN_WORDS, fieldFaults } from '../shared/field-faults.ts'
import type { Item } from '../spaces/item.ts'

const LEVELS = ['off', 'fs', 'strict'] as const
const NETS = ['none', 'proxy', 'all'] as const

/** What one manifest says. A key it does not know is refused: a misspelt protection must not pass. */
const Statement = z.strictObject({
  level: z.enum(LEVELS).optional(),
  read: z.array(z.string().min(1)).max(100).optional(),
  write: z.array(z.string().min(1)).max(100).optional(),
  net: z.enum(NETS).optional(),
  required: z.boolean().optional(),
})
type Statement = z.infer<typeof Statement>

/** What a chain asks for, taken together. Paths are as they are written. */
export interface SandboxWish {
  readonly level: (typeof LEVELS)[number]
  readonly net: (typeof NETS)[number]
  readonly read: readonly string[]
  readonly write: readonly string[]
  readonly isRequired: boolean
}

/** From primitive to leaf: who comes later may be stricter, never looser. Null when nobody asks for anything. */
export function sandboxOf(items: readonly Item[]): SandboxWish | null {
  const merged: Merged = { owners: new Map() }
  let isAsked = false
  for (const { id, manifest } of items.toReversed()) {
    for (const given of [manifest.config['sandbox'], manifest.sandbox]) {
      if (given === undefined) continue
      if (given === null && isAsked) throw loosened(id, 'sandbox', [...merged.owners.values()][0] ?? null)
      if (given === null) continue
      isAsked = true
      tighten(merged, id, read(id, given))
    }
  }
  if (!isAsked) return null
  const level = merged.level ?? 'strict'
  return {
    level,
    net: merged.net ?? usualNet(level),
    read: merged.read ?? [],
    write: merged.write ?? [],
    isRequired: merged.required === true,
  }
}

interface Merged extends Statement {
  /** Who said it last. */
  readonly owners: Map<keyof Statement, string>
}

function read(id: string, given: unknown): Statement {
  const parsed = Statement.safeParse(given, IN_WORDS)
  if (parsed.success) return parsed.data
  const invalid = fieldFaults(parsed.error.issues)
  const faults = invalid.map(({ name, reason }) => `"sandbox${name === '' ? '' : `.${name}`}" ${reason}`)
  throw new KiwiError('INVALID_CONFIG', `Cannot use the sandbox of "${id}": ${faults.join(', ')}`, {
    hint: 'Correct these keys under "sandbox" in the manifest',
    details: { invalid, tool: id },
  })
}

function tighten(merged: Merged, id: string, given: Statement): void {
  for (const key of ['level', 'net', 'read', 'write', 'required'] as const) {
    if (given[key] === undefined) continue
    if (isLooser(key, merged, given)) {
      const owner = merged.owners.get(key) ?? merged.owners.get('level') ?? null
      throw loosened(id, `sandbox.${key}`, owner)
    }
  }
  // Only now: what one manifest says is compared with what others said before it.
  for (const key of ['level', 'net', 'read', 'write', 'required'] as const) {
    if (given[key] === undefined) continue
    Object.assign(merged, { [key]: given[key] })
    merged.owners.set(key, id)
  }
}

function isLooser(key: keyof Statement, before: Statement, given: Statement): boolean {
  switch (key) {
    case 'level':
      return rank(LEVELS, given.level) < rank(LEVELS, before.level)
    case 'net': {
      const most = before.net ?? (before.level === undefined ? 'all' : usualNet(before.level))
      return rank(NETS, given.net) > rank(NETS, most)
    }
    case 'read':
    case 'write':
      return !isWithin(given[key] ?? [], before[key])
    case 'required':
      return before.required === true && given.required === false
  }
}

/** Without a word about it, a strict sandbox has no network. */
function usualNet(level: SandboxWish['level']): SandboxWish['net'] {
  return level === 'strict' ? 'none' : 'all'
}

function rank<T>(order: readonly T[], value: T | undefined): number {
  return value === undefined ? -1 : order.indexOf(value)
}

/** Whether each path is one of these, or lies below one; where nothing was said, everything does. */
function isWithin(paths: readonly string[], most: readonly string[] | undefined): boolean {
  return (
    most === undefined ||
    paths.every((path) => !path.split('/').includes('..') && most.some((root) => isBelow(path, root)))
  )
}

function isBelow(path: string, root: string): boolean {
  return path === root || path.startsWith(root.endsWith('/') ? root : `${root}/`)
}

/** What holds every child at least, whatever its manifests say. */
export interface SandboxFloor {
  readonly level: SandboxWish['level']
  readonly isRequired: boolean
  readonly net?: SandboxWish['net']
}

/** The stricter of both in everything; null when nothing is asked for. */
export function withFloor(wish: SandboxWish | null, floor: SandboxFloor | null): SandboxWish | null {
  const asked = wish ?? { level: 'off', net: 'all', read: [], write: [], isRequired: false }
  if (floor === null) return asked.level === 'off' ? null : asked
  const level = rank(LEVELS, floor.level) > rank(LEVELS, asked.level) ? floor.level : asked.level
  const most = floor.net ?? usualNet(floor.level)
  const net = rank(NETS, most) < rank(NETS, asked.net) ? most : asked.net
  return level === 'off' ? null : { ...asked, level, net, isRequired: asked.isRequired || floor.isRequired }
}

function loosened(id: string, key: string, owner: string | null): KiwiError {
  return new KiwiError(
    'INVALID_CONFIG',
    `Cannot use the sandbox of "${id}": it loosens "${key}", which ${owner === null ? 'its executor' : `"${owner}"`} protects`,
    { hint: `Remove "${key}" from "${id}"`, details: { key, protected_by: owner, tool: id } },
  )
}
