import { dirname } from 'node:path'
import { KiwiError, messageOf } from '../shared/errors.ts'
import { IN_WORDS, fieldFaults } from '../shared/field-faults.ts'
import type { JsonValue } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import { LIMITS } from '../shared/limits.ts'
import { textOf } from '../shared/template.ts'
import { leadsOutTo } from './disk.ts'
import type { Position } from './parse-document.ts'
import { parseValue, positionIn } from './parse-document.ts'
import { decodeText, readRegularFile } from './read-file.ts'
import { SERVER_NAME, ServerEntry, serverId } from './server-entry.ts'

/** What a `mcp_registry.yaml` says. An entry with a fault does not count, and takes no other with it. */
export interface ServersFile {
  readonly entries: ReadonlyMap<string, FoundEntry>
  readonly faults: readonly EntryFault[]
}

export interface FoundEntry {
  readonly entry: ServerEntry
  readonly at: Position
}

interface EntryFault extends Position {
  /** The entry that is meant; null for the file as a whole. */
  readonly name: string | null
  readonly reason: string
}

/** Told of every entry as it is written, also one that cannot be used: it may hold credentials. */
export type Learn = (config: JsonValue | undefined) => void

/** Keys under which servers stand; the second is how other clients call it. */
const ROOTS = ['mcps', 'mcpServers'] as const

/** `within` is the folder that no link may lead out of. */
export async function readServersFile(
  path: string,
  within: string | null,
  learn?: Learn,
): Promise<ServersFile> {
  try {
    if (within !== null && leadsOutTo(dirname(path), within) !== null)
      throw new Error('a link leads out of the project')
    return await readServers(decodeText(readRegularFile(path, LIMITS.itemBytes).bytes, path), path, learn)
  } catch (error) {
    if (error instanceof KiwiError && error.retryable) throw error
    const reason = messageOf(error)
      .replace(`Cannot read "${path}": `, '')
      .replace(/ \(line \d+, column \d+\)$/, '')
    return { entries: new Map(), faults: [{ ...positionIn(error), name: null, reason }] }
  }
}

export async function readServers(text: string, where: string, learn?: Learn): Promise<ServersFile> {
  const { value, at } = await parseValue(text, where)
  const entries = new Map<string, FoundEntry>()
  const faults: EntryFault[] = []
  const fault = (name: string | null, path: readonly PropertyKey[], reason: string): void =>
    void faults.push({ ...at(path), name, reason })
  const ids = new Set<string>()
  for (const { name, path, given } of written(value, (place, reason) => fault(null, place, reason))) {
    learn?.(given)
    if (!SERVER_NAME.test(name)) {
      fault(name, path, `"${name}" is no name for a server: use letters, digits, "_" and "-"`)
      continue
    }
    if (ids.has(serverId(name))) {
      fault(name, path, `the server "${name}" is there twice`)
      continue
    }
    ids.add(serverId(name))
    const read = ServerEntry.safeParse(given ?? {}, IN_WORDS)
    if (read.success) entries.set(name, { entry: read.data, at: at(path) })
    else
      for (const issue of read.error.issues) {
        const [{ name: key, reason } = { name: '', reason: '' }] = fieldFaults([issue])
        const [unknown] = issue.code === 'unrecognized_keys' ? issue.keys : []
        const spot = [...path, ...issue.path, ...(unknown === undefined ? [] : [unknown])]
        fault(name, spot, `${key === '' ? `"${name}"` : `"${name}.${key}"`} ${reason}`)
      }
  }
  return { entries, faults }
}

interface Written {
  readonly name: string
  readonly path: readonly PropertyKey[]
  readonly given: JsonValue | undefined
}

/** The entries under each root, or of a plain list. */
function written(
  value: JsonValue,
  fault: (path: readonly PropertyKey[], reason: string) => void,
): readonly Written[] {
  if (value === null) return []
  if (Array.isArray(value)) return listed(value, [], fault)
  if (!isJsonObject(value)) {
    fault([], 'it is neither a mapping nor a list of servers')
    return []
  }
  return Object.entries(value).flatMap(([root, servers]): readonly Written[] => {
    if (!ROOTS.some((known) => known === root)) {
      fault([root], `"${root}" is not known: servers stand under "mcps"`)
      return []
    }
    if (Array.isArray(servers)) return listed(servers, [root], fault)
    if (isJsonObject(servers))
      return Object.entries(servers).map(([name, given]) => ({ name, path: [root, name], given }))
    if (servers !== null) fault([root], `"${root}" must be a mapping of names to servers, or a list`)
    return []
  })
}

function listed(
  servers: readonly JsonValue[],
  path: readonly PropertyKey[],
  fault: (path: readonly PropertyKey[], reason: string) => void,
): readonly Written[] {
  return servers.flatMap((server, at): readonly Written[] => {
    const place = [...path, at]
    if (!isJsonObject(server) || typeof server['name'] !== 'string') {
      fault(place, 'an entry of a list needs a "name"')
      return []
    }
    const { name, ...given } = server
    return [{ name: textOf(name), path: place, given }]
  })
}
