import { basename } from 'node:path'
import { GROUPS } from '../../shared/groups.ts'
import type { Demand, LayerData, LayerSource, Verdict } from './rule.ts'

type Missing = Pick<Verdict, 'rule' | 'remedy' | 'required'>

/** What a layer would have to say for a demand it has no rule for, ready to paste, and who can write it there. */
export function missingGrant(
  { name, source }: LayerData,
  demand: Demand,
  demands: readonly Demand[],
): Missing {
  switch (source.kind) {
    case 'harness':
      return missingKey(source, behind(demand, demands))
    case 'directive': {
      const required = elementFor(behind(demand, demands))
      return {
        rule: null,
        required,
        remedy: `Add ${required} to <${source.element}> of the directive "${source.directive}"`,
      }
    }
    case 'tools': {
      const required = wantedFor(behind(demand, demands))
      return {
        rule: null,
        required,
        remedy: `Add ${required} to <tools> of the directive "${source.directive}"`,
      }
    }
    case 'spawn':
      return { rule: null, required: null, remedy: 'Name the tool when the run is begun' }
    case 'machine':
      return { rule: null, required: null, remedy: `Add a rule for it to the layer "${name}"` }
  }
}

/** Who keeps the file of each place. */
export const KEEPERS: Readonly<Record<HarnessSource['place'], string>> = {
  builtin: 'it is shipped with Kiwi',
  machine: 'whoever administers this machine keeps it',
  user: 'the person whose account this is keeps it',
  project: 'whoever keeps the project keeps it',
}

type HarnessSource = Extract<LayerSource, { kind: 'harness' }>

function missingKey({ file, place, atTop }: HarnessSource, demand: Demand): Missing {
  const [inner, value] = keyFor(demand)
  const isAtTop = atTop.some((group) => inner.startsWith(`internal_tools.${group}.`))
  const key = isAtTop ? inner.replace('internal_tools.', '') : inner
  const required = `${key}: ${value}`
  return {
    rule: `${place}/${key.replace(/^internal_tools\./, '')}`,
    required,
    remedy: `Add ${required} to ${file}: ${KEEPERS[place]}`,
  }
}

/** Demands that a harness can leave unlisted, with the key that would list them. */
function keyFor(demand: Demand): readonly [string, string] {
  switch (demand.op) {
    case 'read':
    case 'write':
      return ['internal_tools.filesystem.allowed_paths', `[${JSON.stringify(demand.path)}]`]
    case 'exec':
      return ['internal_tools.shell.allowed_commands', `[${JSON.stringify(basename(demand.program))}]`]
    case 'tool':
      if (demand.of?.server === 'git')
        return ['internal_tools.git.allowed', `[${JSON.stringify(demand.of.tool)}]`]
      if (demand.of !== undefined) {
        const { server } = demand.of
        const isGroup = GROUPS.some((group) => group === server)
        return [`internal_tools.${isGroup ? server : `mcps.${server}`}`, '{enabled: true}']
      }
      return ['rules', `[{op: tool, match: {tool: ${JSON.stringify(demand.id)}}, effect: allow}]`]
    case 'net':
      return ['rules', `[{op: net, match: {host: ${JSON.stringify(demand.host)}}, effect: allow}]`]
    case 'spawn':
      return [
        'rules',
        `[{op: spawn, match: {directive: ${JSON.stringify(demand.directive)}}, effect: allow}]`,
      ]
  }
}

/** Files and the shell are granted by what is done with them, and not by the name of a tool. */
function behind(demand: Demand, demands: readonly Demand[]): Demand {
  const server = demand.op === 'tool' ? demand.of?.server : undefined
  const done = demands.find(
    ({ op }) =>
      (server === 'shell' && op === 'exec') || (server === 'filesystem' && (op === 'read' || op === 'write')),
  )
  return done ?? demand
}

/** The line of `<permissions>` that its author would add. */
function elementFor(demand: Demand): string {
  switch (demand.op) {
    case 'read':
    case 'write':
      return `<${demand.op} resource="filesystem" path="${escaped(demand.path)}"/>`
    case 'exec':
      return `<execute resource="shell" commands="${escaped(basename(demand.program))}"/>`
    case 'net':
      return `<execute resource="http" action="${escaped(demand.method)}" domains="${escaped(demand.host)}"/>`
    case 'spawn':
      return directiveElement(demand.directive)
    case 'tool':
      return toolElement(demand)
  }
}

/** The line of `<tools>`, which says nothing of hosts and directives. */
function wantedFor(demand: Demand): string {
  switch (demand.op) {
    case 'read':
    case 'write':
      return `<filesystem><${demand.op} paths="${escaped(demand.path)}"/></filesystem>`
    case 'exec':
      return `<shell commands="${escaped(basename(demand.program))}"/>`
    case 'tool':
      return wantedTool(demand)
    case 'net':
    case 'spawn':
      return elementFor(demand)
  }
}

function wantedTool({ id, of, action }: Extract<Demand, { op: 'tool' }>): string {
  if (of !== undefined) return `<mcp name="${escaped(of.server)}"><tool>${escaped(of.tool)}</tool></mcp>`
  return id === 'kiwi-mcp'
    ? `<kiwi><${escaped(action)}/></kiwi>`
    : `<kiwi><execute actions="${escaped(action)}"/></kiwi>`
}

/** What grants both the use of a directive and that it is begun. */
function directiveElement(id: string): string {
  return `<execute><directive>${escaped(id)}</directive></execute>`
}

function toolElement({ id, of, action, type }: Extract<Demand, { op: 'tool' }>): string {
  if (id === 'kiwi-mcp') return `<execute resource="kiwi-mcp" action="${escaped(action)}"/>`
  if (action !== 'run') return `<kiwi><execute actions="${escaped(action)}"/></kiwi>`
  if (type === 'directive') return directiveElement(id)
  if (of === undefined) return `<execute resource="tool" id="${escaped(id)}"/>`
  return `<execute resource="mcp" name="${escaped(of.server)}" tools="${escaped(of.tool)}"/>`
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
