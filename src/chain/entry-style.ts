import { extname } from 'node:path'
import type { JsonObject } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import type { Item } from '../spaces/item.ts'
import { entrypointOf } from '../spaces/item.ts'
import { readScript } from '../spaces/source/script.ts'

/** Sources that tell how they take their parameters. */
const READ: ReadonlySet<string> = new Set(['.py', '.js', '.mjs', '.cjs'])
const KEYS = ['args_style', 'entry_function', 'flag_names'] as const
/** As much of a source as is looked at. */
const READ_BYTES = 256 * 1024

/** How a script takes its parameters, read from its source, when no link of its chain says so. It is never run. */
export async function entryStyle([leaf, ...executors]: readonly Item[]): Promise<JsonObject> {
  if (leaf?.manifest.tool_type !== 'script' || leaf.manifest.config['args'] !== undefined) return {}
  const configs = [leaf, ...executors].map(({ manifest }) => manifest.config)
  if (configs.some((config) => config['args_style'] !== undefined)) return {}
  const entrypoint = entrypointOf(leaf.manifest, leaf.filePaths)
  if (entrypoint === null || !READ.has(extname(entrypoint))) return {}
  const found = await read(leaf, entrypoint)
  const canCall = configs.some(({ args_by_style }) => isJsonObject(args_by_style) && 'call' in args_by_style)
  return found['args_style'] === 'call' && !canCall ? {} : found
}

/** What cannot be read says nothing: whether it can be run is found out elsewhere. */
async function read(item: Item, entrypoint: string): Promise<JsonObject> {
  const file = (await item.files()).find(({ path }) => path === entrypoint)
  if (file === undefined) return {}
  const text = Buffer.from(file.content.subarray(0, READ_BYTES)).toString('utf8')
  try {
    const { raw } = await readScript({ stem: item.id, fileName: entrypoint, path: entrypoint, text })
    const config = isJsonObject(raw['config']) ? raw['config'] : {}
    return Object.fromEntries(KEYS.flatMap((key) => (key in config ? [[key, config[key] ?? null]] : [])))
  } catch {
    return {}
  }
}
