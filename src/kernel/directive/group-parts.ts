import type { JsonObject } from '../../shared/json.ts'
import { GROUPS, groupOf } from '../../shared/groups.ts'
import { parseItemRef } from '../../shared/ids.ts'
import { compileNameGlob } from '../../shared/name-glob.ts'
import type { WantedServer } from '../../spaces/directive/model.ts'
import type { Item } from '../../spaces/item.ts'
import { FILE_OPERATIONS } from '../policy/groups.ts'
import type { Rule, Verdict } from '../policy/rule.ts'
import { judgedItem } from '../item-demand.ts'
import { aboutOf, directly } from './about-server.ts'
import { execDemand, judgeCommand } from './effective-rules.ts'
import type { Part, Scene } from './scene.ts'
import { leftOut, shownTool } from './scene.ts'
import { fromProject, narrowPaths, shownPaths } from './shown-paths.ts'

/** Files, the shell and git: what is granted of them, and what that is bounded by. */
export async function groupParts(scene: Scene): Promise<readonly Part[]> {
  const items = await shippedItems(scene)
  const of = (group: string): readonly Item[] => items.filter(({ id }) => groupOf(id) === group)
  const parts = [filesPart(of('filesystem'), scene), shellPart(of('shell'), scene), gitPart(of('git'), scene)]
  return parts.filter((part) => part !== null).map((part) => asWanted(part, scene))
}

/** A group that is wanted as a server is spoken of as one. */
function asWanted({ key, entry, warnings }: Part, scene: Scene): Part {
  const server = scene.directive.wanted.servers.find(({ name }) => name === key)
  if (server === undefined) return { key, entry, warnings }
  const direct = directly(server, scene)
  const { available = false, ...rest } = entry
  return {
    key,
    entry: { available, ...aboutOf(server), ...rest, ...direct.entry },
    warnings: [...warnings, ...direct.warnings],
  }
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
  const { directive, left, wanted, lookup, policy } = scene
  const named = directive.wanted.filesystem === null ? null : wanted
  // What people decided narrows what is wanted and granted.
  const bounds = policy.layers.map(({ rules }) => rules)
  const [read = [], write = []] = (['read', 'write'] as const).map((right) => {
    const paths = [...(named === null ? [] : [named]), left, ...bounds].map((rules) =>
      shownPaths(rules, right),
    )
    return fromProject(paths.reduce(narrowPaths), lookup.projectPath)
  })
  const tools = allowed(items, scene).filter(({ id }) => (isWriting(id) ? write : read).length > 0)
  const isWanted = named !== null || isWantedGroup(scene, 'filesystem')
  return partOf('filesystem', shownTools(tools, scene), isWanted, { read_paths: read, write_paths: write })
}

function isWriting(id: string): boolean {
  return FILE_OPERATIONS.write.some((operation) => id === `filesystem.${operation}`)
}

function shellPart(items: readonly Item[], scene: Scene): Part | null {
  const { directive, granted, left, layers } = scene
  const { shell } = directive.wanted
  const judged = (rules: readonly Rule[]): readonly JudgedCommand[] => {
    const given = commandsOf(rules)
    const commands = shell === null ? given : shell.flatMap((name) => grantedAs(name, given))
    return [...new Set(commands)].map((command) => ({ command, verdict: judgeCommand(command, layers) }))
  }
  const usable = judged(left).filter(({ verdict }) => verdict?.effect !== 'deny')
  const asked = usable.filter(({ verdict }) => verdict?.effect === 'ask').map(({ command }) => command)
  const tools = usable.length === 0 ? [] : allowed(items, scene)
  const part = partOf('shell', shownTools(tools, scene), shell !== null, {
    allowed_commands: usable.map(({ command }) => command),
    ...(asked.length === 0 ? {} : { needs_approval: asked }),
  })
  const warnings = judged(granted).flatMap(({ command, verdict }) =>
    verdict?.effect === 'deny' ? [leftOut(`"shell ${command}"`, verdict.remedy)] : [],
  )
  return part === null ? null : { ...part, warnings }
}

interface JudgedCommand {
  readonly command: string
  readonly verdict: Verdict | null
}

function commandsOf(rules: readonly Rule[]): readonly string[] {
  return rules.flatMap(({ op, effect, match }) => {
    if (op !== 'exec' || effect === 'deny') return []
    if (match.kind === 'prefix') return [match.words.join(' ')]
    return match.kind === 'program' ? match.names : []
  })
}

/** A program that is granted as a whole, or in some commands. */
function grantedAs(name: string, given: readonly string[]): readonly string[] {
  const { program } = execDemand(name)
  const isWhole = given.some(
    (text) => text === name || (!text.includes(' ') && compileNameGlob(text)(program)),
  )
  return isWhole ? [name] : given.filter((text) => text.startsWith(`${name} `))
}

function gitPart(items: readonly Item[], scene: Scene): Part | null {
  return partOf('git', shownTools(allowed(items, scene), scene), isWantedGroup(scene, 'git'))
}

function allowed(items: readonly Item[], { judge }: Scene): readonly Item[] {
  return items.filter((item) => judge.refusalOf(judgedItem(item)) === null)
}

function shownTools(items: readonly Item[], scene: Scene): readonly JsonObject[] {
  return items.map((item) => shownTool(item, scene))
}

/** What is neither wanted nor granted is not spoken of. */
function partOf(
  key: string,
  tools: readonly JsonObject[],
  isWanted: boolean,
  constraints?: JsonObject,
): Part | null {
  if (tools.length === 0 && !isWanted) return null
  const entry = {
    available: tools.length > 0,
    tools,
    ...(constraints === undefined ? {} : { constraints }),
    ...(tools.length > 0 ? {} : { error: 'nothing of it is granted' }),
  }
  return { key, entry, warnings: [] }
}
