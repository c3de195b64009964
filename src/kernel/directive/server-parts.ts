import type { Fix } from '../../shared/errors.ts'
import { KiwiError, messageOf } from '../../shared/errors.ts'
import { serverName } from '../../shared/groups.ts'
import type { JsonObject } from '../../shared/json.ts'
import { shownDefinition } from '../../spaces/definitions/shown-definition.ts'
import type { WantedServer } from '../../spaces/directive/model.ts'
import type { Server } from '../../spaces/listed.ts'
import type { CatalogTool } from '../../store/catalog.ts'
import type { JudgedItem } from '../item-demand.ts'
import { aboutOf, directly } from './about-server.ts'
import { isGroup } from './group-parts.ts'
import type { Part, Scene } from './scene.ts'
import { leftOut } from './scene.ts'

/** What servers list and the directive may call, asked for at once; who has not answered lately is asked again. */
export async function serverParts(scene: Scene): Promise<readonly Part[]> {
  const { directive } = scene
  const named = directive.wanted.servers.filter((server) => !isGroup(server))
  const wanted = named.length > 0 ? named : grantedServers(scene)
  return Promise.all(wanted.map((server) => serverPart(server, scene)))
}

/** Those that permissions name, where nothing is said of tools. */
function grantedServers({ granted }: Scene): readonly WantedServer[] {
  const names = granted.flatMap(({ op, effect, match }) =>
    op === 'tool' && effect !== 'deny' && match.kind === 'tool' && typeof match.server === 'string'
      ? [match.server]
      : [],
  )
  return [...new Set(names)]
    .map((name): WantedServer => ({ ...BARE, name }))
    .filter((server) => !isGroup(server) && !/[*?]/.test(server.name))
}

const BARE = {
  required: false,
  alias: null,
  proxy: true,
  refresh: false,
  tools: null,
  why: '',
  line: 0,
} as const

async function serverPart(wanted: WantedServer, scene: Scene): Promise<Part> {
  const key = serverName(wanted.name)
  const server = await scene.lookup.serverFor(wanted.name)
  try {
    if (server === null) throw unknown(key)
    const heard = await listed(server, wanted, scene)
    const found = await toolsOf(server, wanted, scene)
    const direct = directly(wanted, scene)
    return {
      key,
      entry: {
        available: found.tools.length > 0,
        ...aboutOf(wanted),
        tools: found.tools,
        ...direct.entry,
        ...(found.tools.length > 0 ? {} : { error: 'no tool of it can be used' }),
      },
      warnings: [...heard, ...found.warnings, ...direct.warnings],
    }
  } catch (error) {
    const isRehearsal = scene.means.listings === null
    if (wanted.required && !(isRehearsal && server !== null))
      throw missing(key, error, scene, server !== null)
    const entry = { available: false, ...aboutOf(wanted), tools: [], error: messageOf(error) }
    // Nothing was started to find out, so the run itself may still be refused.
    const warnings = wanted.required
      ? [`"${key}" is required: a run asks it first, and fails without it`]
      : []
    return { key, entry, warnings }
  }
}

/** Asks it what it has unless that is known; nothing is asked where nothing may be started. */
async function listed(
  server: Server,
  { refresh }: WantedServer,
  { lookup, ticket, means }: Scene,
): Promise<readonly string[]> {
  const { listings } = means
  const listing = await lookup.listing(server.key)
  if (listings === null) {
    if (listing === null) throw new KiwiError('UPSTREAM_UNAVAILABLE', `"${server.name}" was never listed`)
    return []
  }
  if (!refresh && listings.isCurrent(server.item, listing)) return []
  return (await listings.list(server, { ticket, lookup, means })).warnings
}

interface FoundTools {
  readonly tools: readonly JsonObject[]
  readonly warnings: readonly string[]
}

async function toolsOf(server: Server, wanted: WantedServer, scene: Scene): Promise<FoundTools> {
  const all = await scene.means.store.catalog.tools(server.key)
  const names = new Set(all.map(({ name }) => name))
  const shown = all.flatMap((tool) => {
    const overridden = tool.state === 'missing' ? null : server.overrides.show(tool.raw, names)
    return overridden === null ? [] : [{ tool, name: overridden.name, definition: overridden.definition }]
  })
  const found = (wanted.tools ?? shown.map(({ name }) => name)).map((name): FoundTools => {
    const one = shown.find((each) => each.name === name) ?? shown.find((each) => each.tool.name === name)
    if (one === undefined) return { tools: [], warnings: [`"${server.name}" has no tool "${name}"`] }
    const id = `${server.name}.${one.name}`
    const why = held(one.tool, server) ?? refused(id, one.tool, server, scene)
    if (why === null) {
      const asked = scene.judge.needsApproval(judgedTool(id, one.tool, server))
      const approval = asked ? { needs_approval: true } : {}
      return { tools: [{ ...toolOf(id, one.tool, one.definition), ...approval }], warnings: [] }
    }
    // Of a server that is wanted as a whole, what is not granted is simply not there.
    const isSaid = wanted.tools !== null || one.tool.state !== 'usable'
    return { tools: [], warnings: isSaid ? [leftOut(`"${id}"`, why)] : [] }
  })
  return {
    tools: found.flatMap(({ tools }) => tools),
    warnings: found.flatMap(({ warnings }) => warnings),
  }
}

function held({ name, state, findings }: CatalogTool, server: Server): string | null {
  if (state === 'quarantined') return `A person has to look at it first: kiwi trust ${server.name}.${name}`
  return state === 'unusable' ? `It cannot be used: ${findings.join('; ')}` : null
}

function refused(id: string, tool: CatalogTool, server: Server, { judge }: Scene): string | null {
  return judge.refusalOf(judgedTool(id, tool, server))?.remedy ?? null
}

function judgedTool(id: string, { name }: CatalogTool, server: Server): JudgedItem {
  return {
    id,
    type: 'mcp_tool',
    space: 'mcp',
    executor: server.item.id,
    config: { mcp_tool_name: name },
    category: null,
  }
}

function toolOf(id: string, tool: CatalogTool, shown: JsonObject): JsonObject {
  const { description = '', inputSchema = { type: 'object' } } = shownDefinition(tool, shown).definition
  return { name: id, description, inputSchema }
}

function unknown(name: string): KiwiError {
  return new KiwiError('NOT_FOUND', `no server "${name}" was added here`)
}

/** What keeps the server away says what to do about it: to trust it, to log in, to give it a secret. */
function missing(name: string, error: unknown, { directive }: Scene, isKnown: boolean): KiwiError {
  const lesser =
    directive.dialect === 'xml'
      ? `take required="true" from <mcp name="${name}"> of the directive`
      : `take "required: true" from the server "${name}" of the directive`
  const fix: Fix = isKnown
    ? { call: 'load', arguments: { item_type: 'mcp', item_id: name } }
    : { call: 'search', arguments: { query: 'mcp:*' } }
  const known = isKnown && error instanceof KiwiError ? error : null
  const remedy = isKnown
    ? (known?.hint ?? 'Mend the server')
    : `Ask the person to add it with kiwi add ${name}`
  return new KiwiError(
    'UPSTREAM_UNAVAILABLE',
    `Cannot run "${directive.name}": Required MCP '${name}' not available: ${messageOf(error)}`,
    {
      hint: `${remedy}; or ${lesser}; no run was begun`,
      fix,
      retryable: known?.retryable ?? isKnown,
      details: { ...known?.details, server: name, directive: directive.name, reason: messageOf(error) },
      cause: error,
    },
  )
}
