import { join, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { KiwiError } from '../../shared/errors.ts'
import type { JsonObject, JsonValue } from '../../shared/json.ts'
import { isJsonObject } from '../../shared/json.ts'
import { LIMITS } from '../../shared/limits.ts'
import { leadsOutTo, statOf } from '../disk.ts'
import { decodeText, readRegularFile } from '../read-file.ts'

interface Place {
  /** The folder that the config is for. */
  readonly folder: string
  readonly project: string | null
}

/** What a client would read beside a server when it starts it. */
export interface EnvFile {
  /** The entry with those variables in it; its own count more. */
  readonly entry: JsonObject
  readonly notes: readonly string[]
}

/** Takes over the variables of `envFile` as they are now. One that lies elsewhere is not the config's to hand over. */
export function takeEnvFile({ envFile: given, ...entry }: JsonObject, place: Place): EnvFile {
  if (typeof given !== 'string' || given === '') return { entry, notes: [] }
  const path = pathOf(given, place)
  if (path === null) return { entry, notes: [`envFile "${given}" lies elsewhere: left out`] }
  if (statOf(path) === null) return { entry, notes: [`envFile "${path}" is not there: left out`] }
  try {
    const text = decodeText(readRegularFile(path, LIMITS.itemBytes).bytes, path)
    const own = isJsonObject(entry['env']) ? entry['env'] : {}
    const note = `envFile "${path}" was read: what it says later does not count`
    return { entry: { ...entry, env: { ...literal(parseEnv(text)), ...own } }, notes: [note] }
  } catch (error) {
    if (!(error instanceof KiwiError)) throw error
    return { entry, notes: [`envFile is left out: ${error.message}`] }
  }
}

/** Null for one that is neither below the folder of the config nor below the project. */
function pathOf(given: string, { folder, project }: Place): string | null {
  const path = resolve(
    folder,
    given.replace(/^\$\{PROJECT_PATH\}/, () => project ?? folder),
  )
  const isWithin = [folder, ...(project === null ? [] : [project])].some((root) => isBelow(path, root))
  return isWithin && !path.includes('${') ? path : null
}

function isBelow(path: string, root: string): boolean {
  return path.startsWith(join(root, '/')) && leadsOutTo(path, root) === null
}

/** Nothing in such a file is a variable of ours. */
function literal(read: NodeJS.Dict<string>): Readonly<Record<string, JsonValue>> {
  return Object.fromEntries(
    Object.entries(read).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value.replaceAll('${', () => '$${')] as const],
    ),
  )
}
