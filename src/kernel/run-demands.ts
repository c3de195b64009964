import type { CommandDraft } from '../chain/draft-command.ts'
import type { Draft } from '../chain/draft.ts'
import type { UpstreamDraft } from '../chain/draft-upstream.ts'
import type { Plan } from '../chain/plan.ts'
import { VOUCHED } from '../chain/trust.ts'
import { itemDemand } from './item-demand.ts'
import type { OwnPaths } from './line-demands.ts'
import { gitDemands, lineDemands } from './line-demands.ts'
import type { Demand } from './policy/rule.ts'

/** The tool itself, every executor that is not shipped, and what stands at the end: a new name is no new right. */
export function runDemands(draft: Draft, own: OwnPaths): readonly Demand[] {
  const { effect } = draft
  if (effect.kind !== 'mcp') return demandsOf(draft, own)
  const before = kept.get(effect)
  if (before?.plan === draft.plan) return before.demands
  const demands = demandsOf(draft, own)
  kept.set(effect, { plan: draft.plan, demands })
  return demands
}

/** What a server is reached by stays from call to call, and no argument has a part in what that demands. */
const kept = new WeakMap<UpstreamDraft, { readonly plan: Plan; readonly demands: readonly Demand[] }>()

function demandsOf({ plan, effect }: Draft, own: OwnPaths): readonly Demand[] {
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

function toolDemands({ items, links }: Plan, isVouched: boolean): readonly Demand[] {
  return items.flatMap((item, at): readonly Demand[] => {
    const { id, space, manifest } = item
    const { tool_type: type, executor, config, category } = manifest
    const demand = itemDemand({ id, type, space: links[at]?.space ?? space, executor, config, category })
    if (at === 0) return [demand]
    return space === 'builtin' ? [] : [{ ...demand, isChosen: !isVouched }]
  })
}

/** Whether the manifests write the host out, so that no argument can lead elsewhere. */
function isLiteralHost({ config: { url, url_template: template } }: Plan, host: string): boolean {
  const written = url ?? template
  return typeof written === 'string' && written.split('/')[2]?.toLowerCase() === host.toLowerCase()
}
