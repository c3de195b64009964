import type { JsonObject } from '../../shared/json.ts'
import { GROUPS, groupOf } from '../../shared/groups.ts'
import { parseItemRef } from '../../shared/ids.ts'
import type { WantedServer } from '../../spaces/directive/model.ts'
import type { Item } from '../../spaces/item.ts'
import { compileNameGlob } from '../policy/glob.ts'
import { FILE_OPERATIONS, fileOperation } from '../policy/groups.ts'
import { judgedItem } from '../item-demand.ts'
import type { Part, Scene } from './scene.ts'
import { leftOut, shownTool } from './scene.ts'
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

function wantedGroup({ directive }: Scene, group: string): WantedServer | undefined {
  return directive.wanted.servers.find(({ name }) => name === group)
}

function filesPart(items: readonly Item[], scene: Scene): Part | null {
  const { directive, granted, wanted, lookup } = scene
  const rights = (['read', 'write'] as const).map((right) => {
    const given = shownPaths(granted, right, lookup.projectPath)
    const named = directive.wanted.filesystem === null ? null : wanted
    const found =
      named === null
        ? { paths: given, excess: [] }
        : narrowPaths(shownPaths(named, right, lookup.projectPath), given)
    const tools = found.paths.length === 0 ? [] : allowed(items, scene, FILE_OPERATIONS[right])
    return { right, tools, ...found }
  })
  const tools = rights.flatMap((right) => right.tools)
  const server = wantedGroup(scene, 'filesystem')
  if (tools.length === 0 && server === undefined && directive.wanted.filesystem === null) return null
  const [read, write] = rights.map(({ paths }) => paths)
  const missing = rights.flatMap(({ right, excess }) =>
    excess.map((path) => leftOut(`to ${right} "${path}"`, grantLine(right, path))),
  )
  const filtered = (server?.tools ?? []).map(fileOperation)
  const unused = filtered
    .filter((name) => !tools.some((tool) => tool.id === `filesystem.${name}`))
    .map((name) => leftOut(`"filesystem.${name}"`, grantLine(rightOf(name), '**')))
  const bare =
    server !== undefined && server.tools === null && tools.length === 0
      ? [leftOut('"filesystem"', grantLine('read', '**'))]
      : []
  const constraints = { read_paths: read ?? [], write_paths: write ?? [] }
  return partOf('filesystem', tools, constraints, [...missing, ...unused, ...bare])
}

function rightOf(operation: string): 'read' | 'write' {
  return FILE_OPERATIONS.write.some((name) => name === operation) ? 'write' : 'read'
}

function grantLine(right: 'read' | 'write', path: string): string {
  return `Add <${right} resource="filesystem" path="${path}"/> to <permissions>`
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
  const excess = (shell ?? []).filter((name) => grantedAs(name, given).length === 0)
  const tools = commands.length === 0 ? [] : allowed(items, scene)
  if (tools.length === 0 && shell === null) return null
  const warnings = excess.map((name) =>
    leftOut(`the command "${name}"`, `Add <execute resource="shell" commands="${name}"/> to <permissions>`),
  )
  return partOf('shell', tools, { allowed_commands: [...new Set(commands)] }, warnings)
}

/** A program that is granted as a whole, or in some commands. */
function grantedAs(name: string, given: readonly string[]): readonly string[] {
  const isWhole = given.some((text) => !text.includes(' ') && compileNameGlob(text)(name))
  return isWhole ? [name] : given.filter((text) => text.startsWith(`${name} `))
}

function gitPart(items: readonly Item[], scene: Scene): Part | null {
  const tools = allowed(items, scene)
  const server = wantedGroup(scene, 'git')
  if (tools.length === 0 && server === undefined) return null
  const missing = (server?.tools ?? []).filter((name) => !tools.some(({ id }) => id === `git.${name}`))
  const warnings = missing.map((name) =>
    leftOut(`"git.${name}"`, `Add <execute resource="git" action="${name}"/> to <permissions>`),
  )
  return partOf('git', tools, null, warnings)
}

function allowed(items: readonly Item[], { judge }: Scene, operations?: readonly string[]): readonly Item[] {
  return items.filter(
    (item) =>
      (operations === undefined || operations.includes(item.id.slice(item.id.indexOf('.') + 1))) &&
      judge.refusalOf(judgedItem(item)) === null,
  )
}

function partOf(
  key: string,
  tools: readonly Item[],
  constraints: JsonObject | null,
  warnings: readonly string[],
): Part {
  const entry = {
    available: tools.length > 0,
    tools: tools.map(shownTool),
    ...(constraints === null ? {} : { constraints }),
    ...(tools.length > 0 ? {} : { error: 'nothing of it is granted' }),
  }
  return { key, entry, warnings }
}
