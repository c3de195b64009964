import { groupOf, serverName } from '../../shared/groups.ts'
import { ItemName } from '../../shared/ids.ts'
import { nameIn } from '../../spaces/directive/dialect.ts'
import type { Directive } from '../../spaces/directive/model.ts'
import type { Lookup } from '../../spaces/lookup.ts'
import { itemDemand, judgedItem } from '../item-demand.ts'
import type { Demand, Verdict } from '../policy/rule.ts'
import { calledId } from './shown-process.ts'

/** Something that a directive calls or names, and that it could not use. */
export interface CallFault {
  readonly tool: string
  /** In one sentence. */
  readonly said: string
  /** The line that would grant it; null where it is granted, but not there. */
  readonly required: string | null
}

interface CheckMeans {
  readonly lookup: Lookup
  /** What speaks against a call, whatever its arguments. */
  readonly refusalOf: (demand: Demand) => Pick<Verdict, 'remedy' | 'required'> | null
}

/** Calls of its steps that are granted by nobody or of what is not there, and tools it names that are not there. */
export async function checkCalls(directive: Directive, means: CheckMeans): Promise<readonly CallFault[]> {
  const { steps, wanted, dialect } = directive
  const aliases = aliasesOf(directive)
  const called = steps.flatMap(({ name, calls }, at) =>
    calls.flatMap((call) => {
      const tool = calledId(call, aliases)
      return tool === null ? [] : [{ tool, what: `step "${name ?? at + 1}" calls "${tool}"`, isCall: true }]
    }),
  )
  const named = [
    ...wanted.scripts,
    ...wanted.servers.flatMap(({ name, tools }) =>
      (tools ?? []).map((tool) => calledId({ tool: `${serverName(name)}.${tool}` }, {}) ?? tool),
    ),
  ].map((tool) => ({ tool, what: `${nameIn(dialect, 'tools')} names "${tool}"`, isCall: false }))
  const found = await Promise.all([...called, ...named].map((use) => faultsOf(use, means)))
  const all = new Map(found.flat().map((fault) => [fault.said, fault]))
  return [...all.values()]
}

/** Names that its calls give to servers. */
function aliasesOf({ wanted }: Directive): Readonly<Record<string, string>> {
  return Object.fromEntries(
    wanted.servers.flatMap(({ alias, name }) => (alias === null ? [] : [[alias, serverName(name)]])),
  )
}

interface Use {
  readonly tool: string
  readonly what: string
  readonly isCall: boolean
}

async function faultsOf({ tool, what, isCall }: Use, means: CheckMeans): Promise<readonly CallFault[]> {
  const { demand, absence } = await lookFor(tool, means.lookup)
  // What is only named is judged with all that is named.
  const refusal = isCall ? means.refusalOf(demand) : null
  const { remedy = '', required = null } = refusal ?? {}
  return [
    ...(refusal === null
      ? []
      : [{ tool, said: `${what}, which it may not use: ${remedy}`, required: required ?? '' }]),
    ...(absence === null ? [] : [{ tool, said: `${what}: ${absence}`, required: null }]),
  ]
}

interface LookedFor {
  readonly demand: Demand
  /** Why it cannot be there; null when it is, or may be. */
  readonly absence: string | null
}

async function lookFor(id: string, lookup: Lookup): Promise<LookedFor> {
  const name = ItemName.safeParse(id)
  const ref = name.success ? { name: name.data, category: null, version: null } : null
  const item = ref === null ? null : await lookup.find(ref, 'tool').catch(() => null)
  if (item !== null) return { demand: itemDemand(judgedItem(item)), absence: null }
  const demand = { op: 'tool', id, action: 'run' } as const
  const dot = id.indexOf('.')
  if (dot <= 0) return { demand, absence: 'there is no such tool here' }
  const server = id.slice(0, dot)
  const tool = id.slice(dot + 1)
  return { demand: { ...demand, of: { server, tool } }, absence: await absenceOf(server, tool, lookup) }
}

async function absenceOf(server: string, tool: string, lookup: Lookup): Promise<string | null> {
  if (groupOf(server) !== undefined) return 'there is no such tool here'
  const known = await lookup.serverFor(server)
  if (known === null) return `there is no server "${server}": kiwi add ${server}`
  if ((await lookup.listing(known.key)) === null) return null
  return (await lookup.toolNames(known)).includes(tool) ? null : `"${server}" has no tool "${tool}"`
}
