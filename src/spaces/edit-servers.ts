import type { Document, Pair, ParsedNode, YAMLMap } from 'yaml'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { canonicalJson, isJsonObject, parsePlain } from '../shared/json.ts'
import { setJson } from './edit-json.ts'
import { linesOf } from './edit-manifest.ts'
import { looksLikeJson } from './read-json.ts'
import { readServers } from './read-servers.ts'
import type { ServerEntry } from './server-entry.ts'

/** What becomes of the servers of a file, by name: an entry is put there, null takes it out. */
export type ServerChanges = ReadonlyMap<string, ServerEntry | null>

/** The text of a `mcp_registry.yaml` with some entries changed. What is not changed stays as it was written. */
export async function editServers(text: string, changes: ServerChanges, where: string): Promise<string> {
  const { entries, faults } = await readServers(text, where)
  const broken = faults.find(({ name }) => name === null)
  if (broken !== undefined) throw cannotEdit(where, `${broken.reason} (line ${broken.line})`)
  const wanted = new Map(Array.from(entries, ([name, { entry }]) => [name, entry]))
  for (const [name, entry] of changes) {
    if (entry === null) wanted.delete(name)
    else wanted.set(name, entry)
  }
  for (const attempt of [inJson, spliced, rebuilt]) {
    const edited = await attempt(text, changes)
    const read = edited === null ? null : await readServers(edited, where).catch(() => null)
    // Comments in unusual places could make a change land elsewhere: what counts is what is read afterwards.
    if (edited !== null && read !== null && isSame(read.entries, wanted)) return edited
  }
  throw cannotEdit(where, 'it is laid out in a way that cannot be edited')
}

function isSame(
  read: Awaited<ReturnType<typeof readServers>>['entries'],
  wanted: ReadonlyMap<string, ServerEntry>,
): boolean {
  const found = Array.from(read, ([name, { entry }]) => [name, entry] as const)
  return canonicalJson(Object.fromEntries(found)) === canonicalJson(Object.fromEntries(wanted))
}

/** A file in JSON stays one, since others may read it as such; null for any other. */
async function inJson(text: string, changes: ServerChanges): Promise<string | null> {
  const whole = looksLikeJson(text) ? parsePlain(text) : undefined
  if (!isJsonObject(whole)) return null
  const root = ROOTS.find((name) => whole[name] !== undefined) ?? 'mcps'
  const servers = whole[root] ?? {}
  if (!isJsonObject(servers)) return null
  const gone = [...changes].filter(([name, entry]) => entry === null && servers[name] !== undefined)
  const left = Object.entries(servers).filter(([name]) => !gone.some(([each]) => each === name))
  const end = text.endsWith('\n') ? '\n' : ''
  const first =
    gone.length === 0
      ? text
      : JSON.stringify({ ...whole, [root]: Object.fromEntries(left) }, null, unitOf(text)) + end
  return [...changes].reduce(
    (edited, [name, entry]) =>
      entry === null ? edited : setJson(edited, [root, name], plain(entry), 'mcp_registry.yaml'),
    first,
  )
}

const ROOTS = ['mcps', 'mcpServers']

/** What one level is indented by. */
function unitOf(text: string): string {
  return /\n([ \t]+)"/.exec(text)?.[1] ?? '  '
}

/** Only the lines of the entries that change are written anew; null where they have no lines of their own. */
async function spliced(text: string, changes: ServerChanges): Promise<string | null> {
  const yaml = await import('yaml')
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const write = (value: JsonObject): string => yaml.stringify(value, { lineWidth: 0 }).replaceAll('\n', eol)
  const document = yaml.parseDocument(text, { uniqueKeys: false })
  if (document.contents === null) {
    const line = text === '' || text.endsWith('\n') ? '' : eol
    return text + line + write({ mcps: additions(changes) })
  }
  const servers = serversIn(document, yaml.isMap)
  if (servers === null) return null
  const { items } = servers
  const column = indentOf(items[0], text)
  const block = (value: JsonObject): string => write(value).replaceAll(/^(?=.)/gm, ' '.repeat(column))
  let edited = text
  const last = items.at(-1)
  const end = last === undefined ? text.length : linesOf(last, text)[1]
  const names = new Set(items.map(nameOf))
  const added = [...changes].filter(([name, entry]) => entry !== null && !names.has(name))
  if (added.length > 0) {
    const head = edited.slice(0, end)
    edited = `${head}${head.endsWith('\n') ? '' : eol}${block(additions(new Map(added)))}${edited.slice(end)}`
  }
  for (const pair of items.toReversed()) {
    const change = changes.get(nameOf(pair))
    if (change === undefined) continue
    const [from, to] = linesOf(pair, text)
    edited =
      edited.slice(0, from) +
      (change === null ? '' : block({ [nameOf(pair)]: plain(change) })) +
      edited.slice(to)
  }
  return edited
}

/** The same with the layout of the whole given up; comments stay. */
async function rebuilt(text: string, changes: ServerChanges): Promise<string | null> {
  const yaml = await import('yaml')
  const document = yaml.parseDocument(text, { uniqueKeys: false })
  const root = ROOTS.find((name) => document.has(name)) ?? 'mcps'
  const list = yaml.isSeq(document.contents) ? document.contents : document.get(root)
  for (const [name, entry] of changes) {
    if (yaml.isSeq(list)) {
      const at = list.items.findIndex((item) => yaml.isMap(item) && item.get('name') === name)
      if (at >= 0) list.delete(at)
      if (entry !== null) list.add(document.createNode({ name, ...plain(entry) }))
      continue
    }
    if (entry === null) document.deleteIn([root, name])
    else if (yaml.isMap(list)) list.set(name, document.createNode(plain(entry)))
    else document.set(root, document.createNode({ [name]: plain(entry) }))
  }
  return String(document)
}

function serversIn({ contents }: Document.Parsed, isMap: (node: unknown) => boolean): YAMLMap.Parsed | null {
  if (!isMap(contents)) return null
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- just looked at
  const root = contents as YAMLMap.Parsed
  const pair = root.items.find((item) => ROOTS.includes(nameOf(item)))
  if (root.flow === true || pair === undefined || !isMap(pair.value)) return null
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- just looked at
  const servers = pair.value as unknown as YAMLMap.Parsed
  return servers.flow === true || servers.items.length === 0 ? null : servers
}

type Item = Pair<ParsedNode, ParsedNode | null>

function nameOf({ key }: Item): string {
  return 'value' in key ? String(key.value) : ''
}

function indentOf(item: Item | undefined, text: string): number {
  const at = item?.key.range[0] ?? 0
  return at - (text.lastIndexOf('\n', at - 1) + 1)
}

function additions(changes: ServerChanges): JsonObject {
  return Object.fromEntries(
    [...changes].flatMap(([name, entry]) => (entry === null ? [] : [[name, plain(entry)] as const])),
  )
}

/** Without what is not said. */
function plain(entry: ServerEntry): JsonObject {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- its schema takes JSON values only
  return Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== undefined)) as JsonObject
}

function cannotEdit(where: string, reason: string): KiwiError {
  return new KiwiError('PARSE_ERROR', `Cannot change "${where}": ${reason}`, {
    hint: 'Correct the file, and run the command again',
  })
}
