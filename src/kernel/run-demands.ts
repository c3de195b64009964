import type { CommandDraft } from '../chain/draft-command.ts'
import type { Draft } from '../chain/draft.ts'
import type { Plan } from '../chain/plan.ts'
import { VOUCHED } from '../chain/trust.ts'
import { itemDemand } from './item-demand.ts'
import type { OwnPaths } from './line-demands.ts'
import { gitDemands, lineDemands } from './line-demands.ts'
import type { Demand } from './policy/rule.ts'

/** The tool itself, every executor that is not shipped, and what stands at the end: a new name is no new right. */
export function runDemands({ plan, effect }: Draft, own: OwnPaths): readonly Demand[] {
  const isVouched = plan.trust.level >= VOUCHED
  const tools = toolDemands(plan, isVouched)
  switch (effect.kind) {
    case 'content':
      return tools
    case 'mcp': {
      const { server } = effect
      return server.kind === 'stdio'
        ? startDemands(server.command, tools, isVouched)
        : [...tools, netDemand(plan, server.request, isVouched)]
    }
    case 'subprocess':
      return startDemands(effect, tools, isVouched)
    case 'line':
      return [...tools, ...lineDemands(effect, own), ...shellDemands(tools)]
    case 'http_client':
      return [...tools, netDemand(plan, effect.request, isVouched)]
  }
}

function startDemands(
  { command: started, environment, git, paths }: CommandDraft,
  tools: readonly Demand[],
  isVouched: boolean,
): readonly Demand[] {
  const { command, args } = started
  // Of what nobody vouches for, the program is as good as the code it is given.
  const trait = isVouched ? {} : { isChosen: true, runsCode: true }
  const builders = new Set(environment?.builder?.programs)
  builders.delete(command)
  return [
    ...tools,
    ...[...builders].map((program): Demand => ({ op: 'exec', program, ...trait })),
    { op: 'exec', program: command, argv: [command, ...args], ...trait },
    ...(isVouched ? [] : gitDemands(git)),
    ...paths.map(({ use, path }): Demand => ({ op: use, path, isChosen: true })),
    // What it starts is the better reason to give, so that stands first.
    ...(isVouched ? [] : shellDemands(tools)),
  ]
}

function netDemand(
  plan: Plan,
  { url, method }: { readonly url: string; readonly method: string },
  isVouched: boolean,
): Demand {
  const { host } = new URL(url)
  const isChosen = !isVouched || !isLiteralHost(plan, host)
  return { op: 'net', host, method, ...(isChosen ? { isChosen } : {}) }
}

/** Whatever a tool is called: one that starts what was chosen is the shell, and held to what is said of it. */
function shellDemands(tools: readonly Demand[]): readonly Demand[] {
  const [own] = tools
  if (own?.op !== 'tool' || own.of?.server === 'shell') return []
  return [{ ...own, of: { server: 'shell', tool: 'run' } }]
}

const kept = new WeakMap<Plan, readonly Demand[]>()

/** No argument has a part in it, so it stays from one call of a plan to the next. */
function toolDemands(plan: Plan, isVouched: boolean): readonly Demand[] {
  const before = kept.get(plan)
  if (before !== undefined) return before
  const { items, links } = plan
  const demands = items.flatMap((item, at): readonly Demand[] => {
    const { id, space, manifest } = item
    const { tool_type: type, executor, config, category } = manifest
    const demand = itemDemand({ id, type, space: links[at]?.space ?? space, executor, config, category })
    if (at === 0) return [demand]
    return space === 'builtin' ? [] : [{ ...demand, isChosen: !isVouched }]
  })
  kept.set(plan, demands)
  return demands
}

/** Whether the manifests write the host out, so that no argument can lead elsewhere. */
function isLiteralHost({ config: { url, url_template: template } }: Plan, host: string): boolean {
  const written = url ?? template
  return typeof written === 'string' && written.split('/')[2]?.toLowerCase() === host.toLowerCase()
}
