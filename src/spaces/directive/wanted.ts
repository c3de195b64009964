import type { Element } from './element.ts'
import { nameIn } from './dialect.ts'
import { childrenOf, dialectOf, listOf, shown } from './element.ts'
import { joinServers } from './join-servers.ts'
import type { WantedServer, WantedTools } from './model.ts'
import type { Note } from './note.ts'
import { meant } from './note.ts'
import { parseFault } from './parse-fault.ts'
import { valueAs, wordsIn } from './values.ts'
import { textsBeside } from './written-text.ts'

export const NOTHING_WANTED: WantedTools = {
  servers: [],
  scripts: [],
  filesystem: null,
  shell: null,
  kiwi: null,
}

/** Whether it says what will be used, so that nothing else is. */
export function isNarrowing({ servers, filesystem, shell, kiwi }: WantedTools): boolean {
  return servers.length > 0 || filesystem !== null || shell !== null || kiwi !== null
}

/** What `<tools>` and `<mcps>` ask for. */
export function readWanted(sections: readonly Element[], where: string, note: Note): WantedTools {
  const entries = sections.flatMap(({ children }) => children)
  const mcps = new Set(sections.filter(({ name }) => name === 'mcps').flatMap(({ children }) => children))
  const named = (name: string): readonly Element[] => entries.filter((entry) => entry.name === name)
  for (const entry of entries)
    if (!KNOWN.has(entry.name)) {
      const probably = meant(entry.name, KNOWN, (name) => nameIn(dialectOf(entry), name))
      note(entry, `${shown(entry)} is no tool that can be wanted: left out${probably}`)
    }
  for (const entry of entries) if (KNOWN.has(entry.name) && entry.name !== 'mcp') noteStrangers(entry, note)
  const files = named('filesystem')
  const shells = named('shell')
  const kiwis = named('kiwi')
  return {
    servers: joinServers(
      named('mcp').flatMap((entry) =>
        serverOf(entry, note).map((server) => ({
          ...server,
          ...(mcps.has(entry) ? { isOfMcps: true } : {}),
        })),
      ),
      note,
    ),
    scripts: named('script').flatMap((entry) => {
      const { name = entry.text } = entry.attributes
      if (name === '') note(entry, `${nameIn(dialectOf(entry), 'script')} names no tool: left out`)
      // To name a script is to grant it: nobody grants what they have not named.
      if (/[*?]/.test(name))
        throw parseFault(where, `the script "${name}" is a pattern, and a script is named by its id`, entry, {
          hint: `Name each tool by its id, or grant the pattern in ${nameIn(dialectOf(entry), 'permissions')}`,
        })
      return name === '' ? [] : [name]
    }),
    filesystem: files.length === 0 ? null : { read: pathsOf(files, 'read'), write: pathsOf(files, 'write') },
    shell: shells.length === 0 ? null : [...new Set(shells.flatMap(commandsOf))],
    kiwi:
      kiwis.length === 0
        ? null
        : Object.fromEntries(
            kiwis.flatMap(({ children }) =>
              children.map((use) => [use.name, listOf(use, 'types', 'actions', 'action', 'type') ?? []]),
            ),
          ),
  }
}

const KNOWN: ReadonlySet<string> = new Set(['mcp', 'script', 'filesystem', 'shell', 'kiwi'])

/** What is read of each element, and of those in it. */
const READ: ReadonlyMap<string, string> = new Map([
  ['filesystem', ''],
  ['script', 'name'],
  ['shell', 'commands command'],
  ['command', 'name pattern'],
  ['kiwi', ''],
])
const REMARKS = ['reason', 'why', 'description']

/** Says what has no effect: without it, more or less may be wanted than was meant. */
function noteStrangers(element: Element, note: Note, around = ''): void {
  const known = (
    READ.get(element.name) ?? (around === 'kiwi' ? 'types type actions action' : 'paths path')
  ).split(' ')
  const word = element.isData === true ? 'key' : 'attribute'
  for (const key of Object.keys(element.attributes).filter((one) => ![...known, ...REMARKS].includes(one)))
    note(
      element,
      `${nameIn(dialectOf(element), element.name)} has no ${word} "${key}": without effect${meant(key, known, (name) => `"${name}"`)}`,
    )
  for (const child of element.children) noteStrangers(child, note, element.name)
}

function pathsOf(sections: readonly Element[], right: string): readonly string[] {
  return sections
    .flatMap((section) => childrenOf(section, right))
    .flatMap((element) => {
      const paths = listOf(element, 'paths', 'path') ?? wordsIn(element.text)
      return paths.length > 0 || isGiven(element, 'paths', 'path') ? paths : ['**/*']
    })
}

/** A list that is there and empty is a list of nothing. */
function isGiven({ attributes }: Element, ...names: readonly string[]): boolean {
  return names.some((name) => attributes[name] !== undefined)
}

function commandsOf(element: Element): readonly string[] {
  const commands = childrenOf(element, 'command').flatMap(({ attributes, text }) => {
    const { name = attributes['pattern'] ?? text } = attributes
    return name === '' ? [] : [name]
  })
  return [...(listOf(element, 'commands', 'command') ?? wordsIn(element.text)), ...commands]
}

function serverOf(element: Element, note: Note): readonly WantedServer[] {
  const { attributes, line } = element
  const { name = '', alias } = attributes
  if (name === '') {
    note(element, `${nameIn(dialectOf(element), 'mcp')} names no server: left out`)
    return []
  }
  const called = element.isData === true ? `the server "${name}"` : `<mcp name="${name}">`
  const word = element.isData === true ? 'key' : 'attribute'
  const flag = (key: string, standard: boolean): boolean => {
    const given = attributes[key]
    const value = given === undefined ? standard : valueAs('boolean', given)
    if (typeof value === 'boolean') return value
    const said = element.isData === true ? `"${key}: ${given ?? ''}"` : `${key}="${given ?? ''}"`
    note(element, `${said} of ${called} is neither true nor false: read as ${standard}`)
    return standard
  }
  for (const key of Object.keys(attributes))
    if (!ATTRIBUTES.has(key)) note(element, `${called} has no ${word} "${key}": without effect`)
  const nested = [element, ...childrenOf(element, 'tools')].flatMap((around) => childrenOf(around, 'tool'))
  const tools = [
    ...(listOf(element, 'tools') ?? []),
    ...nested.map((tool) => tool.attributes['name'] ?? tool.text).filter((tool) => tool !== ''),
  ]
  return [
    {
      name,
      required: flag('required', false),
      alias: alias === undefined || alias === '' ? null : alias,
      proxy: flag('proxy', true),
      refresh: flag('refresh', false),
      tools:
        (tools.length === 0 && !isGiven(element, 'tools')) || tools.includes('*')
          ? null
          : [...new Set(tools)],
      why: (attributes['why'] ?? reasonIn(element)).replaceAll(/\s+/g, ' ').trim(),
      line,
    },
  ]
}

/** What it says beside its tools. */
function reasonIn(element: Element): string {
  if (element.isData === true) return element.text
  return textsBeside(element, ({ name }) => name === 'tools' || name === 'tool').join(' ')
}

const ATTRIBUTES: ReadonlySet<string> = new Set([
  'name',
  'required',
  'alias',
  'proxy',
  'refresh',
  'tools',
  'why',
])
