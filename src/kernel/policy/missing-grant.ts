import { basename } from 'node:path'
import { GROUPS } from '../../shared/groups.ts'
import type { Dialect } from '../../spaces/directive/dialect.ts'
import { lineIn, nameIn, xmlText, yamlText } from '../../spaces/directive/dialect.ts'
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
      const { dialect = 'xml', element, directive } = source
      return missingLine(elementFor(behind(demand, demands), dialect), nameIn(dialect, element), directive)
    }
    case 'tools': {
      const { dialect = 'xml', directive } = source
      return missingLine(wantedFor(behind(demand, demands), dialect), nameIn(dialect, 'tools'), directive)
    }
    case 'spawn':
      return { rule: null, required: null, remedy: 'Name the tool when the run is begun' }
    case 'machine':
      return { rule: null, required: null, remedy: `Add a rule for it to the layer "${name}"` }
  }
}

function missingLine(required: string, section: string, directive: string): Missing {
  return { rule: null, required, remedy: `Add ${required} to ${section} of the directive "${directive}"` }
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
function elementFor(demand: Demand, dialect: Dialect): string {
  switch (demand.op) {
    case 'read':
    case 'write':
      return lineIn(dialect, demand.op, { resource: 'filesystem', path: demand.path })
    case 'exec':
      return lineIn(dialect, 'execute', { resource: 'shell', commands: basename(demand.program) })
    case 'net':
      return lineIn(dialect, 'execute', { resource: 'http', action: demand.method, domains: demand.host })
    case 'spawn':
      return directiveElement(demand.directive, dialect)
    case 'tool':
      return toolElement(demand, dialect)
  }
}

/** The line of `<tools>`, which says nothing of hosts and directives. */
function wantedFor(demand: Demand, dialect: Dialect): string {
  switch (demand.op) {
    case 'read':
    case 'write':
      return wantedPath(demand.op, demand.path, dialect)
    case 'exec': {
      const program = basename(demand.program)
      return dialect === 'skill' ? `Bash(${program}:*)` : lineIn(dialect, 'shell', { commands: program })
    }
    case 'tool':
      return wantedTool(demand, dialect)
    case 'net':
    case 'spawn':
      return elementFor(demand, dialect)
  }
}

function wantedPath(right: 'read' | 'write', path: string, dialect: Dialect): string {
  if (dialect === 'skill') return `${right === 'read' ? 'Read' : 'Write'}(${path})`
  if (dialect === 'yaml') return `- filesystem: {${right}: [${yamlText(path)}]}`
  return `<filesystem>${lineIn(dialect, right, { paths: path })}</filesystem>`
}

function wantedTool({ id, of, action }: Extract<Demand, { op: 'tool' }>, dialect: Dialect): string {
  if (of === undefined) return kiwiElement(id === 'kiwi-mcp' ? [action] : ['execute', action], dialect)
  const { server, tool } = of
  if (dialect === 'skill') return `mcp__${server}__${tool}`
  if (dialect === 'yaml') return `- mcp: {name: ${yamlText(server)}, tools: [${yamlText(tool)}]}`
  return `<mcp name="${xmlText(server)}"><tool>${xmlText(tool)}</tool></mcp>`
}

/** The use of one of the four tools, and of one of its actions. */
function kiwiElement([use, action]: readonly [string, string?], dialect: Dialect): string {
  if (dialect !== 'xml')
    return `- kiwi: {${yamlText(use)}: [${action === undefined ? '' : yamlText(action)}]}`
  return `<kiwi>${lineIn(dialect, use, action === undefined ? {} : { actions: action })}</kiwi>`
}

/** What grants both the use of a directive and that it is begun. */
function directiveElement(id: string, dialect: Dialect): string {
  if (dialect !== 'xml') return `- execute: [{directive: ${yamlText(id)}}]`
  return `<execute><directive>${xmlText(id)}</directive></execute>`
}

function toolElement({ id, of, action, type }: Extract<Demand, { op: 'tool' }>, dialect: Dialect): string {
  if (id === 'kiwi-mcp') return lineIn(dialect, 'execute', { resource: 'kiwi-mcp', action })
  if (action !== 'run') return kiwiElement(['execute', action], dialect)
  if (type === 'directive') return directiveElement(id, dialect)
  if (of === undefined) return lineIn(dialect, 'execute', { resource: 'tool', id })
  return lineIn(dialect, 'execute', { resource: 'mcp', name: of.server, tools: of.tool })
}
