import { basename, dirname, join } from 'node:path'
import { LIMITS } from '../../shared/limits.ts'
import { list, statOf } from '../disk.ts'
import { DEEPEST } from '../folder-files.ts'
import { beginningOf } from '../read-file.ts'
import type { PlaceName } from '../scan.ts'
import { kindOf } from '../scan.ts'
import type { Bag, Find, Left } from './collect-items.ts'
import { LEFT_FOLDERS, collectFile, collectFolder, collectItems, listed, notPlain } from './collect-items.ts'
import type { Source } from './recognise.ts'
import { placeInSpace } from './recognise.ts'

/** Everything there is in a source, found by names alone. */
export interface Survey {
  readonly finds: readonly Find[]
  readonly left: readonly Left[]
  /** What older kernels kept of their own doing: folder or file to the number of files. */
  readonly history: Readonly<Record<string, number>>
  /** Names of variables in a `.env` file; their values go nowhere. */
  readonly secrets: readonly string[]
}

/** Looks at a source without opening what could be an item. Nothing is left out in silence. */
export function survey({ layout, path }: Source): Survey {
  const bag: Bag = { finds: [], left: [], names: 0 }
  switch (layout) {
    case 'space':
      return { finds: bag.finds, left: bag.left, ...surveySpace(bag, path) }
    case 'knowledge':
      collectItems(bag, path, 'knowledge')
      break
    case 'skills':
      return surveySkills(bag, path)
    case 'folder': {
      const place = statOf(join(path, 'SKILL.md'))?.isFile() === true ? 'directives' : 'tools'
      const to = placeInSpace(path) ?? `${place}/${basename(path)}`
      collectFolder(bag, { from: path, to }, place, to.split('/').slice(1, -1).join('/') || null)
      break
    }
    case 'file':
      surveyFile(bag, path)
  }
  return { finds: bag.finds, left: bag.left, history: {}, secrets: [] }
}

function isSkill({ entry }: Find): boolean {
  return entry?.kind === 'folder'
}

function surveySkills(bag: Bag, path: string): Survey {
  collectItems(bag, path, 'directives')
  const others = bag.finds
    .filter((find) => !isSkill(find))
    .map(({ from }) => ({ path: from, reason: 'no part of a skill' }))
  return { finds: bag.finds.filter(isSkill), left: [...bag.left, ...others], history: {}, secrets: [] }
}

/** The folders of a space that hold items, and where their items belong now. */
const PLACES: ReadonlyMap<string, PlaceName> = new Map([
  ['tools', 'tools'],
  ['scripts', 'tools'],
  ['directives', 'directives'],
  ['knowledge', 'knowledge'],
])

function surveySpace(bag: Bag, root: string): Pick<Survey, 'history' | 'secrets'> {
  const history: Record<string, number> = {}
  let secrets: readonly string[] = []
  for (const found of listed(bag, root)) {
    const path = join(root, found.name)
    const place = PLACES.get(found.name)
    if (place !== undefined && found.isDirectory()) collectItems(bag, path, place)
    else if (HISTORY.has(found.name)) history[found.name] = countFiles(path)
    else if (found.name === '.env') secrets = variablesIn(beginningOf(path, LIMITS.itemBytes))
    else {
      const reason = LEFT_IN_ROOT.get(found.name) ?? notPlain(found) ?? 'not in a folder that holds items'
      bag.left.push({ path, reason })
    }
  }
  return { history, secrets }
}

const HISTORY: ReadonlySet<string> = new Set(['outputs', 'logs', 'lockfiles', '.runs', 'scripts.lock.json'])

const SETTINGS = 'settings: read where they lie, never copied from one space to another'
const OWN = 'Kiwi’s own in that space'

const LEFT_IN_ROOT: ReadonlyMap<string, string> = new Map([
  ...LEFT_FOLDERS,
  ['config', SETTINGS],
  ['config.yaml', SETTINGS],
  ['kiwi.json', SETTINGS],
  ['checkpoints', 'what waited for a person in an older kernel: gone with it'],
  ['vector', 'vectors are made again'],
  ['imports', OWN],
  ['kiwi.db', OWN],
  ['kiwi.db-wal', OWN],
  ['kiwi.db-shm', OWN],
  ['kiwi.token', OWN],
  ['kiwi.key', OWN],
  ['kiwi.pub', OWN],
])

function surveyFile(bag: Bag, path: string): void {
  const [, kind] = kindOf(basename(path)) ?? []
  if (statOf(path)?.isFile() !== true) bag.left.push({ path, reason: 'not a regular file' })
  else if (kind === undefined) bag.left.push({ path, reason: 'no kind of file that holds an item' })
  else {
    const [type = '', ...rest] = (placeInSpace(path) ?? `${placeOf(kind, path)}/${basename(path)}`).split('/')
    const place = PLACES.get(type) ?? 'tools'
    collectFile(bag, dirname(path), [place, ...rest].join('/'), place)
  }
}

/** A document says by what is in it whether it is a directive. */
function placeOf(kind: 'manifest' | 'script' | 'document', path: string): PlaceName {
  if (kind !== 'document') return 'tools'
  const start = beginningOf(path, LIMITS.itemBytes)
  const [front = ''] = /^(?:<!--[^\n]*\n\s*)?---\r?\n[^]*?\n---/.exec(start) ?? []
  const isDirective = /<directive\b/.test(start) || /^(?:inputs|permissions|requires|steps):/m.test(front)
  return isDirective ? 'directives' : 'knowledge'
}

function variablesIn(text: string): readonly string[] {
  const names = [...text.matchAll(/^[ \t]*(?:export[ \t]+)?([A-Za-z_]\w*)[ \t]*=/gm)].map(
    ([, name = '']) => name,
  )
  return [...new Set(names)].toSorted()
}

/** As far as counting is worth it. */
function countFiles(path: string, most: number = LIMITS.importFolderNames, depth = 0): number {
  if (statOf(path)?.isDirectory() !== true) return 1
  let count = 0
  for (const entry of list(path)) {
    if (count >= most || depth > DEEPEST) break
    count += entry.isDirectory() ? countFiles(join(path, entry.name), most - count, depth + 1) : 1
  }
  return count
}
