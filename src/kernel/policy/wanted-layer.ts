import type { Dialect } from '../../spaces/directive/dialect.ts'
import { nameIn } from '../../spaces/directive/dialect.ts'
import type { WantedServer, WantedTools } from '../../spaces/directive/model.ts'
import { GROUPS, serverName } from '../../shared/groups.ts'
import type { PathContext } from './expand-path.ts'
import { fileOperation } from './groups.ts'
import { files, programs } from './permission-rows.ts'
import type { Match, Operation, Rule, WantedLayer } from './rule.ts'

interface WantedContext extends PathContext {
  readonly directive: string
  readonly dialect?: Dialect
  /** Names that calls may give to servers. */
  readonly aliases: Readonly<Record<string, string>>
}

/** What a directive says it will use, as a layer: it narrows what it speaks of, and grants nothing. */
export function wantedLayer(wanted: WantedTools, context: WantedContext): WantedLayer {
  const { directive, aliases, dialect = 'xml' } = context
  const found = [
    ...pathsOf('read', wanted, context),
    ...pathsOf('write', wanted, context),
    ...programsOf(wanted),
    ...serversOf(wanted.servers),
    itemsOf(wanted),
    ANY_HOST,
    ANY_DIRECTIVE,
  ]
  return {
    name: `tools of directive ${directive}`,
    source: { kind: 'tools', directive, aliases, ...unlessXml(dialect) },
    rules: found.map(({ op, match }, at): Rule => ({
      id: `${directive}/tools.${op}/${at + 1}`,
      op,
      match,
      effect: 'allow',
      remedy: `Change ${nameIn(dialect, 'tools')} of the directive "${directive}"`,
    })),
  }
}

/** What a layer keeps of how it is written. */
export function unlessXml(dialect: Dialect): { readonly dialect?: Dialect } {
  return dialect === 'xml' ? {} : { dialect }
}

interface Found {
  readonly op: Operation
  readonly match: Match
}

const ANY: Match = { kind: 'any' }
const ANY_HOST: Found = { op: 'net', match: ANY }
const ANY_DIRECTIVE: Found = { op: 'spawn', match: ANY }

function pathsOf(op: 'read' | 'write', { filesystem }: WantedTools, context: PathContext): readonly Found[] {
  if (filesystem === null) return [{ op, match: ANY }]
  return filesystem[op].flatMap((path) => {
    const row = files(op, [path], context)
    return 'unmapped' in row ? [] : row.grants.filter((grant) => grant.op === op)
  })
}

function programsOf({ shell }: WantedTools): readonly Found[] {
  if (shell === null) return [{ op: 'exec', match: ANY }]
  const row = programs(shell.length === 0 ? null : shell, { isDenial: false })
  return 'unmapped' in row ? [] : row.grants.filter(({ op }) => op === 'exec')
}

/** A server that is named is held to its list of tools; once some are named, there are no others. */
function serversOf(servers: readonly WantedServer[]): readonly Found[] {
  const named = servers.map(({ name, tools }) => ({ server: serverName(name), tools }))
  const others = named.filter(({ server }) => !isGroup(server))
  const groups = GROUPS.map(
    (group) => named.find(({ server }) => server === group) ?? { server: group, tools: null },
  )
  const all = others.length > 0 ? others : [{ server: '*', tools: null }]
  return [...groups, ...all].map(({ server, tools }): Found => {
    const names = server === 'filesystem' ? (tools?.map(fileOperation) ?? null) : tools
    const except = server === '*' ? { except: [...GROUPS] } : {}
    return {
      op: 'tool',
      match: { kind: 'tool', server, ...except, ...(names === null ? {} : { tools: names }) },
    }
  })
}

function isGroup(server: string): boolean {
  return GROUPS.some((group) => group === server)
}

/** What belongs to no server: it is run by what the permissions say, and changed or looked for as is wanted here. */
function itemsOf({ kiwi }: WantedTools): Found {
  const { execute = [], ...questions } = kiwi ?? { execute: ['*'] }
  const actions = ['run', ...execute, ...Object.keys(questions)]
  const isAll = execute.includes('*')
  return { op: 'tool', match: { kind: 'tool', server: null, ...(isAll ? {} : { actions }) } }
}
