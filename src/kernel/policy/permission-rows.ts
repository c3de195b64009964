import type { PathContext } from './expand-path.ts'
import { expandPath, pathFault } from './expand-path.ts'
import { globFault, hostFault } from './glob.ts'
import { serverName } from '../../shared/groups.ts'
import { FILE_OPERATIONS, serverFault, toolFault, toolOf } from './groups.ts'
import { TOOL_TYPES } from '../../shared/tool-type.ts'
import type { Element } from '../../spaces/directive/element.ts'
import { listOf, wholeListOf } from '../../spaces/directive/element.ts'
import type { Match, Operation } from './rule.ts'
import { SAMPLE } from './rule.ts'
import { commandFault } from './written-rule.ts'

/** What one written form grants. */
interface Grant {
  readonly op: Operation
  readonly match: Match
  /** It only opens the way to what the others are about: a form that denies does without it. */
  readonly isWay?: boolean
}

/** Grants, secrets that are asked for, or why the form stands for nothing. */
export type Granted =
  | { readonly grants: readonly Grant[]; readonly secrets?: readonly string[] }
  | { readonly unmapped: string }

export interface RowContext extends PathContext {
  /** Servers that are known or declared. */
  readonly servers: ReadonlySet<string>
  /** What is said is denied or asked about: then it has to mean all that it says. */
  readonly isDenial: boolean
}

const ITEM_ACTIONS: ReadonlySet<string> = new Set(
  'create update delete publish sign copy rollback discover'.split(' '),
)
const QUESTIONS: ReadonlySet<string> = new Set(['search', 'load', 'help'])

export function files(
  right: 'read' | 'write',
  paths: readonly string[] | null,
  context: PathContext,
  tools: readonly string[] = FILE_OPERATIONS[right],
): Granted {
  const given = paths ?? ['**/*']
  const fault = given.map((path) => pathFault(path)).find((found) => found !== null)
  if (fault !== undefined) return { unmapped: `its path ${fault}` }
  // `**/*` is said of everything, the folder itself included.
  const matches = given.flatMap((path) => expandPath(path.replace(/\*\*\/\*$/, '**'), context) ?? [])
  if (matches.length === 0) return { unmapped: 'its path lies in a project, and there is none' }
  return {
    grants: [
      ...matches.map((match) => ({ op: right, match })),
      { op: 'tool', match: { kind: 'tool', server: 'filesystem', tools }, isWay: true },
    ],
  }
}

const SHELL: Grant = { op: 'tool', match: { kind: 'tool', server: 'shell', tools: ['run'] }, isWay: true }

type Meant = Pick<RowContext, 'isDenial'>

/** Programs by their names, and commands by their words: `git`, `git status`. */
export function programs(given: readonly string[] | null, { isDenial }: Meant): Granted {
  if (given === null) return { unmapped: 'it names no commands' }
  const names = given.filter((text) => !/\s/.test(text))
  const commands = given.filter((text) => !names.includes(text))
  const [fault] = isDenial ? commands.flatMap(deniedFault) : []
  if (fault !== undefined) return { unmapped: fault }
  return {
    grants: [
      ...(names.length === 0 ? [] : [{ op: 'exec', match: { kind: 'program', names } } as const]),
      ...commands.map((text) => ({ op: 'exec', match: commandMatch(text, isDenial) }) as const),
      SHELL,
    ],
  }
}

export function commandPattern(pattern: string, { isDenial }: Meant): Granted {
  if (pattern.trim() === '') return { unmapped: 'it has no pattern' }
  const [fault] = isDenial ? deniedFault(pattern) : []
  if (fault !== undefined) return { unmapped: fault }
  return { grants: [{ op: 'exec', match: commandMatch(pattern, isDenial) }, SHELL] }
}

function deniedFault(text: string): readonly string[] {
  const fault = commandFault(text, 'deny')
  return fault === null ? [] : [`"${text}" ${fault}`]
}

/** What is granted is granted as it is written; what is denied is denied in any spelling, whatever follows. */
function commandMatch(text: string, isDenial: boolean): Match {
  const words = text.trim().split(/\s+/)
  return isDenial ? { kind: 'command', patterns: [words.join(' ')] } : { kind: 'prefix', words }
}

/** What a form names, by one of several words for the same: where it denies, by each of them. */
export function namesIn(
  element: Element,
  { isDenial }: Meant,
  ...attributes: readonly string[]
): readonly string[] | null {
  return isDenial ? wholeListOf(element, ...attributes) : listOf(element, ...attributes)
}

function serversTools(
  names: readonly string[],
  tools: readonly string[] | null,
  context: RowContext,
): Granted {
  const grants: Grant[] = []
  for (const name of names) {
    const row = serverTools(name, tools, context)
    if ('unmapped' in row) return row
    grants.push(...row.grants)
  }
  return { grants }
}

function serverTools(name: string, tools: readonly string[] | null, { isDenial }: RowContext): Granted {
  const server = serverName(name)
  const missing = isDenial ? missingTool(server, tools ?? []) : null
  if (missing !== null) return { unmapped: missing }
  const fault =
    serverFault(server) ?? (tools ?? []).map((tool) => globFault(tool)).find((found) => found !== null)
  if (fault !== undefined && fault !== null) return { unmapped: `its name ${fault}` }
  const named = tools?.map((tool) => toolOf(server, tool)) ?? null
  const isAll = named === null || named.includes('*')
  return { grants: [{ op: 'tool', match: { kind: 'tool', server, ...(isAll ? {} : { tools: named }) } }] }
}

/** Why one of these tools of our own is none, or null. */
function missingTool(server: string, tools: readonly string[]): string | null {
  const missing = tools.find((tool) => toolFault(server, tool) !== null)
  return missing === undefined ? null : `"${missing}" ${toolFault(server, missing)}`
}

/** By id, of a space or of a server. */
export function toolIds(
  ids: readonly string[] | null,
  { isDenial }: Pick<RowContext, 'isDenial'>,
  actions: readonly string[] = ['run'],
): Granted {
  if (ids === null) return { unmapped: 'it names no tool' }
  const parts = ids.map((id) => {
    const dot = id.indexOf('.')
    const server = dot <= 0 ? null : serverName(id.slice(0, dot))
    return { id, server, tool: id.slice(dot + 1) }
  })
  const missing = parts.map(({ server, tool }) => (server === null ? null : missingTool(server, [tool])))
  const fault = isDenial ? missing.find((found) => found !== null) : undefined
  if (fault !== undefined && fault !== null) return { unmapped: fault }
  return {
    grants: parts.flatMap(({ id, server, tool }): readonly Grant[] => {
      const own: Grant = { op: 'tool', match: { kind: 'tool', server: null, tools: [id], actions } }
      if (server === null) return [own]
      const match = { kind: 'tool', server, tools: [toolOf(server, tool)], actions } as const
      return [own, { op: 'tool', match }]
    }),
  }
}

/** The use of Kiwi's own tools. To run something takes a grant of that very thing. */
export function kiwiUse(
  given: readonly string[] | null,
  { isDenial }: Pick<RowContext, 'isDenial'>,
): Granted {
  if (given === null) return { unmapped: 'it names no action' }
  const actions = isDenial && given.includes('*') ? [...given, ...ITEM_ACTIONS] : given
  const strange = given.find(
    (action) => action !== '*' && !QUESTIONS.has(action) && !ITEM_ACTIONS.has(action),
  )
  if (isDenial && strange !== undefined)
    return { unmapped: `"${strange}" is no action: name each tool, and actions such as create` }
  const questions = actions.includes('*') ? [...QUESTIONS] : actions.filter((action) => QUESTIONS.has(action))
  const changes = actions.filter((action) => ITEM_ACTIONS.has(action))
  if (questions.length === 0 && changes.length === 0)
    return { unmapped: 'grant each tool, and actions such as create, by name' }
  return {
    grants: [
      ...(questions.length === 0
        ? []
        : [
            {
              op: 'tool',
              match: { kind: 'tool', server: null, tools: ['kiwi-mcp'], actions: questions },
            } as const,
          ]),
      ...(changes.length === 0 ? [] : [{ op: 'tool', match: { kind: 'tool', actions: changes } } as const]),
    ],
  }
}

export function network(hosts: readonly string[] | null, methods: readonly string[] | null): Granted {
  if (hosts === null) return { unmapped: 'it names no host' }
  const named = hosts.map((host) => host.replace(/^[a-z]+:\/\//i, '').replace(/[/?#].*$/s, ''))
  const fault = named.map(hostFault).find((found) => found !== null)
  if (fault !== undefined) return { unmapped: `its host ${fault}` }
  const isAll = methods === null || methods.includes('*')
  return {
    grants: [
      {
        op: 'net',
        match: {
          kind: 'host',
          hosts: named,
          ...(isAll ? {} : { methods: methods.map((method) => method.toUpperCase()) }),
        },
      },
    ],
  }
}

const ASKS = ['GET', 'HEAD', 'OPTIONS']
const SENDS = ['POST', 'PUT', 'PATCH', 'DELETE']

/** `<read resource="..."/>`, `<write .../>` and `<execute .../>`: by the kind of resource. */
export function resourceRow(element: Element, resource: string, context: RowContext): Granted {
  const { name } = element
  const named = (...attributes: readonly string[]): readonly string[] | null =>
    namesIn(element, context, ...attributes)
  if (name !== 'read' && name !== 'write') return executeRow(resource, named, context)
  switch (resource) {
    case 'filesystem':
    case 'fs':
    case 'files':
      return files(name, named('path', 'paths'), context)
    case 'network':
    case 'api':
      return network(named('endpoint', 'domains', 'hosts'), name === 'read' ? ASKS : SENDS)
    case 'registry':
      return kiwiUse([name === 'read' ? 'load' : 'publish'], context)
    default:
      return name === 'read' ? readRow(resource, named) : { unmapped: 'there is no such resource to write' }
  }
}

/** What the form names by one of these attributes. */
type Named = (...attributes: readonly string[]) => readonly string[] | null

function readRow(resource: string, named: Named): Granted {
  switch (resource) {
    case 'env': {
      const names = named('var', 'name')
      return names === null ? { unmapped: 'it names no variable' } : { grants: [], secrets: names }
    }
    case 'knowledge':
      return {
        grants: [
          { op: 'tool', match: { kind: 'tool', server: null, tools: ['kiwi-mcp'], actions: ['load'] } },
          {
            op: 'tool',
            match: {
              kind: 'tool',
              server: null,
              types: ['knowledge'],
              tools: named('path', 'id') ?? ['*'],
              actions: ['run'],
            },
          },
        ],
      }
    // A run knows its own session without a grant.
    case 'session':
      return { grants: [] }
    default:
      return { unmapped: 'there is no such resource to read' }
  }
}

function executeRow(resource: string, named: Named, context: RowContext): Granted {
  const actions = named('action', 'actions')
  switch (resource) {
    case 'shell':
      return programs(named('commands', 'command', 'action'), context)
    case 'mcp': {
      const names = named('name')
      if (names === null) return { unmapped: 'it names no server' }
      return serversTools(names, named('tools', 'actions', 'action'), context)
    }
    case 'tool':
      return toolsRow(named, context)
    case 'kiwi':
    case 'kiwi-mcp':
      return kiwiUse(actions, context)
    case 'registry':
      return kiwiUse(
        (actions ?? []).map((action) => ({ read: 'load', write: 'publish' })[action] ?? action),
        context,
      )
    case 'sampling':
      return sampling(named('name', 'server', 'servers'))
    case 'spawn':
      return { grants: [{ op: 'spawn', match: { kind: 'any' } }] }
    case 'http':
      return network(named('domains', 'hosts', 'endpoint'), actions)
    default:
      return namedServer(resource, named, context)
  }
}

/** A server by its own name. */
function namedServer(resource: string, named: Named, context: RowContext): Granted {
  return serverTools(resource.replace(/^mcp:/, ''), named('action', 'actions', 'tools'), context)
}

/** Whether a resource that is none of ours is a server by its name. */
export function isServer(resource: string, { servers }: Pick<RowContext, 'servers'>): boolean {
  return resource.startsWith('mcp:') || servers.has(serverName(resource)) || resource === 'git'
}

/** Which servers may use the client's model. */
function sampling(names: readonly string[] | null): Granted {
  if (names === null) return { unmapped: 'it names no server' }
  const servers = names.map(serverName)
  const fault = servers.map((server) => serverFault(server)).find((found) => found !== null)
  if (fault !== undefined) return { unmapped: `its name ${fault}` }
  return {
    grants: servers.map((server) => ({ op: 'tool', match: { kind: 'tool', server, actions: [SAMPLE] } })),
  }
}

function toolsRow(named: Named, context: RowContext): Granted {
  const types = named('tool_type')
  const ids = named('id', 'tool_id', 'action')
  if (types === null) return toolIds(ids, context)
  const strange = types.find((type) => !TOOL_TYPES.some((known) => known === type))
  if (context.isDenial && strange !== undefined) return { unmapped: `"${strange}" is no type of tool` }
  const match = { kind: 'tool', server: null, types, tools: ids ?? ['*'], actions: ['run'] } as const
  return { grants: [{ op: 'tool', match }] }
}
