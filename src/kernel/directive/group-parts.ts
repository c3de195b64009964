import type { JsonObject } from '../../shared/json.ts'
import { GROUPS, groupOf } from '../../shared/groups.ts'
import { parseItemRef } from '../../shared/ids.ts'
import type { WantedServer } from '../../spaces/directive/model.ts'
import type { Item } from '../../spaces/item.ts'
import { compileNameGlob } from '../policy/glob.ts'
import { FILE_OPERATIONS } from '../policy/groups.ts'
import { judgedItem } from '../item-demand.ts'
import type { Part, Scene } from './scene.ts'
import { shownTool } from './scene.ts'
import { narrowPaths, shownPaths } from './shown-paths.ts'

/** Files, the shell and git: what is granted of them, and what that is bounded by. */
export async function groupParts(scene: Scene): Promise<readonly Part[]> {
  const items = await shippedItems(scene)
  const of = (group: string): readonly Item[] => items.filter(({ id }) => groupOf(id) === group)
  const parts = [filesPart(of('filesystem'), scene), shellPart(of('shell'), scene), gitPart(of('git'), scene)]
  return parts.filter((part) => part !== null)
}

async function shippedItems({ lookup, means }: Scene): Promise<readonly Item[]> {
  const { hits } = await means.store.index.search({
    words: [],
    spaces: ['builtin'],
    roots: lookup.roots,
    itemTypes: ['tool'],
    toolTypes: [],
    category: null,
    tags: [],
    server: null,
    sortBy: 'name',
    limit: MOST_SHIPPED,
  })
  const ids = hits.map(({ item_id: id }) => id).filter((id) => groupOf(id) !== undefined)
  const found = await Promise.all(ids.map((id) => lookup.find(parseItemRef(id), 'tool', 'builtin')))
  return found.filter((item) => item !== null)
}

const MOST_SHIPPED = 1000

/** The server of a directive that means one of ours. */
export function isGroup({ name }: WantedServer): boolean {
  return GROUPS.some((group) => group === name)
}

function isWantedGroup({ directive }: Scene, group: string): boolean {
  return directive.wanted.servers.some(({ name }) => name === group)
}

function filesPart(items: readonly Item[], scene: Scene): Part | null {
  const { directive, granted, wanted, lookup } = scene
  const named = directive.wanted.filesystem === null ? null : wanted
  const [read = [], write = []] = (['read', 'write'] as const).map((right) => {
    const given = shownPaths(granted, right, lookup.projectPath)
    return named === null ? given : narrowPaths(shownPaths(named, right, lookup.projectPath), given)
  })
  const tools = allowed(items, scene).filter(({ id }) => (isWriting(id) ? write : read).length > 0)
  const isWanted = named !== null || isWantedGroup(scene, 'filesystem')
  return partOf('filesystem', tools, isWanted, { read_paths: read, write_paths: write })
}

function isWriting(id: string): boolean {
  return FILE_OPERATIONS.write.some((operation) => id === `filesystem.${operation}`)
}

function shellPart(items: readonly Item[], scene: Scene): Part | null {
  const { directive, granted } = scene
  const { shell } = directive.wanted
  const given = granted.flatMap(({ op, effect, match }) => {
    if (op !== 'exec' || effect === 'deny') return []
    if (match.kind === 'prefix') return [match.words.join(' ')]
    return match.kind === 'program' ? match.names : []
  })
  const commands = shell === null ? given : shell.flatMap((name) => grantedAs(name, given))
  const tools = commands.length === 0 ? [] : allowed(items, scene)
  return partOf('shell', tools, shell !== null, { allowed_commands: [...new Set(commands)] })
}

/** A program that is granted as a whole, or in some commands. */
function grantedAs(name: string, given: readonly string[]): readonly string[] {
  const isWhole = given.some((text) => !text.includes(' ') && compileNameGlob(text)(name))
  return isWhole ? [name] : given.filter((text) => text.startsWith(`${name} `))
}

function gitPart(items: readonly Item[], scene: Scene): Part | null {
  return partOf('git', allowed(items, scene), isWantedGroup(scene, 'git'))
}

function allowed(items: readonly Item[], { judge }: Scene): readonly Item[] {
  return items.filter((item) => judge.refusalOf(judgedItem(item)) === null)
}

/** What is neither wanted nor granted is not spoken of. */
function partOf(
  key: string,
  tools: readonly Item[],
  isWanted: boolean,
  constraints?: JsonObject,
): Part | null {
  if (tools.length === 0 && !isWanted) return null
  const entry = {
    available: tools.length > 0,
    tools: tools.map(shownTool),
    ...(constraints === undefined ? {} : { constraints }),
    ...(tools.length > 0 ? {} : { error: 'nothing of it is granted' }),
  }
  return { key, entry, warnings: [] }
}
