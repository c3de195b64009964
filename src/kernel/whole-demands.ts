import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { KiwiError } from '../shared/errors.ts'
import type { Maybe } from '../shared/maybe.ts'
import { list, statOf } from '../spaces/disk.ts'
import type { Work } from './call.ts'
import { isAtOrBelow } from './policy/match.ts'
import type { Demand, Layer, ReadyRule } from './policy/rule.ts'

/**
 * A command that takes a folder whole takes along what people forbid or have asked about below it: each of that is a
 * demand of its own. Only what their rules speak of is looked for, and only where they may.
 */
export function withWhole(work: Work, layers: readonly Layer[]): Maybe<Work> {
  const whole = work.demands.filter(isWhole)
  return whole.length === 0 ? work : withFound(work, whole, layers)
}

type PathDemand = Extract<Demand, { op: 'read' | 'write' }>

function isWhole(demand: Demand): demand is PathDemand {
  return (demand.op === 'read' || demand.op === 'write') && demand.isWhole === true
}

async function withFound(work: Work, whole: readonly PathDemand[], layers: readonly Layer[]): Promise<Work> {
  const found = new Map<string, Demand>()
  for (const { op, path } of whole) {
    const rules = layers.flatMap((layer) => restrictingRules(layer, op))
    for (const below of [...namedBelow(rules, path), ...(await fittingBelow(rules, op, path))])
      found.set(`${op} ${below}`, { op, path: below, isChosen: true })
  }
  return found.size === 0 ? work : { ...work, demands: [...work.demands, ...found.values()] }
}

/** What Kiwi says by itself is about single files: a folder with a package in it may be removed. */
function restrictingRules({ source, byOperation }: Layer, op: PathDemand['op']): readonly ReadyRule[] {
  const isOfKiwi = source.kind === 'machine' || (source.kind === 'harness' && source.place === 'builtin')
  return isOfKiwi ? [] : byOperation[op].filter(({ rule }) => rule.effect !== 'allow')
}

function namedBelow(rules: readonly ReadyRule[], folder: string): readonly string[] {
  return rules
    .flatMap(({ rule: { match } }) => (match.kind === 'under' ? match.paths : []))
    .filter((path) => isAtOrBelow(path, folder) && statOf(path) !== null)
}

/** Bounds on the work of a call, on how long it keeps others waiting, and on its record. */
const MOST_LOOKED_AT = 100_000
const AT_ONCE = 2000
const MOST_FOUND = 100

async function fittingBelow(
  rules: readonly ReadyRule[],
  op: PathDemand['op'],
  folder: string,
): Promise<readonly string[]> {
  const speaking = rules.filter(({ rule: { match } }) => match.kind === 'path' && meets(match.root, folder))
  if (speaking.length === 0 || statOf(folder)?.isDirectory() !== true) return []
  const found: string[] = []
  const open = [folder]
  let looked = 0
  for (let at = open.pop(); at !== undefined && found.length < MOST_FOUND; at = open.pop()) {
    for (const entry of list(at)) {
      if (++looked > MOST_LOOKED_AT) throw tooMany(folder)
      if (looked % AT_ONCE === 0) await nextTurn()
      const path = join(at, entry.name)
      if (speaking.some(({ speaksOf }) => speaksOf({ op, path, isChosen: true }))) found.push(path)
      if (entry.isDirectory()) open.push(path)
    }
  }
  return found
}

/** Whether something may lie below both. */
function meets(a: string, b: string): boolean {
  return isAtOrBelow(a, b) || isAtOrBelow(b, a)
}

function tooMany(folder: string): KiwiError {
  return new KiwiError(
    'INVALID_PARAMETERS',
    `Cannot use "${folder}" as a whole: rules speak of what may be in it, and more than ${MOST_LOOKED_AT} files and folders are`,
    { hint: 'Name the folders in it one by one' },
  )
}
