import { groupOf, serverName } from '../shared/groups.ts'
import type { JsonObject } from '../shared/json.ts'
import type { Item } from '../spaces/item.ts'
import type { SpaceName } from '../store/store.ts'
import { decide } from './policy/decide.ts'
import type { Policy } from './policy/policy.ts'
import { policyFaultText } from './policy/policy-fault.ts'
import type { Demand, Layer, Verdict } from './policy/rule.ts'

/** What is known of an item before it is run. */
export interface JudgedItem {
  readonly id: string
  readonly type: string
  readonly space: SpaceName
  readonly executor: string | null
  readonly config: JsonObject
  readonly category: string | null
}

/** Running an item, as layers judge it: a tool of a server, or of a group that is shipped, by its name there. */
export function itemDemand({
  id,
  type,
  space,
  executor,
  config,
  category,
}: JudgedItem): Extract<Demand, { op: 'tool' }> {
  const demand = { op: 'tool', id, action: 'run', type, ...(category === null ? {} : { category }) } as const
  const group = space === 'builtin' ? groupOf(id) : undefined
  if (group !== undefined) return { ...demand, of: { server: group, tool: id.slice(group.length + 1) } }
  if (type !== 'mcp_tool' || executor === null) return demand
  const name = config['mcp_tool_name']
  const server = serverName(executor)
  const tool =
    typeof name === 'string' ? name : id.startsWith(`${server}.`) ? id.slice(server.length + 1) : id
  return { ...demand, of: { server, tool } }
}

export function judgedItem({ id, space, manifest }: Item): JudgedItem {
  const { tool_type: type, executor, config, category } = manifest
  return { id, type, space, executor, config, category }
}

/** What a policy says of items before they are run. */
export interface ItemJudge {
  /** Whether there is anything that nobody could run. */
  readonly refusesSome: boolean
  /** Why nobody could run an item, whatever the arguments; null when somebody could. */
  refusalOf(item: JudgedItem): Verdict | null
  /** Whether a person is asked before it runs, whatever the arguments. */
  needsApproval(item: JudgedItem): boolean
  /** What is wrong with the policy itself. */
  readonly warnings: readonly string[]
}

export function itemJudge({ layers, faults }: Policy): ItemJudge {
  return {
    refusesSome: layers.some(refusesTools),
    refusalOf(item) {
      const verdict = decide(layers, [itemDemand(item)], null)
      return verdict.effect === 'deny' ? verdict : null
    },
    needsApproval: (item) => decide(layers, [itemDemand(item)], null).effect === 'ask',
    warnings: faults
      .slice(0, 1)
      .map((fault) => `nothing runs until a policy is corrected: ${policyFaultText(fault)}`),
  }
}

function refusesTools({ byOperation }: Layer): boolean {
  const rules = byOperation.tool.map(({ rule }) => rule)
  return (
    rules.some(({ effect, when }) => effect === 'deny' && when === undefined) ||
    !rules.some(({ effect, match }) => effect === 'allow' && match.kind === 'any')
  )
}
