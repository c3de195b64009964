import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { canonicalJson, isJsonObject } from '../shared/json.ts'
import type { Item } from '../spaces/item.ts'
import type { Lookup } from '../spaces/lookup.ts'
import { readWritten } from '../spaces/read-item.ts'
import type { WrittenItem } from '../spaces/written-item.ts'
import { manifestText, textFile } from '../spaces/written-item.ts'
import type { Location, NewItem } from './call.ts'

/** A server that is to be made before the tool that stands on it. */
interface Brought {
  readonly item: NewItem
  /** The spaces as they will be with it. */
  readonly lookup: Lookup
}

/** The server that a tool brings along in its config; null when there is none to make. */
export async function inlineServer(
  { id, written }: NewItem,
  location: Location,
  lookup: Lookup,
): Promise<Brought | null> {
  // What else is wrong with it is said with all its faults, later.
  const tool = await readWritten(written, { stem: id, category: null }, location).catch(() => null)
  if (tool === null) return null
  const { tool_type, executor, config } = tool.manifest
  const { server } = config
  if (tool_type !== 'mcp_tool' || executor === null || !isJsonObject(server)) return null
  const there = await lookup.executorOf(tool)
  // A shipped one is a proposal, which files may override.
  if (there === null || (there.space === 'builtin' && location !== 'registry' && !isSame(there, server))) {
    const made = await serverManifest(executor, server)
    const item = await readWritten(made, { stem: executor, category: null }, location)
    return {
      item: { id: executor, category: null, itemType: 'mcp', written: made },
      lookup: {
        ...lookup,
        executorOf: async (of) => (of.manifest.executor === executor ? item : lookup.executorOf(of)),
      },
    }
  }
  if (isSame(there, server)) return null
  const message = `Cannot create "${tool.id}": another server "${executor}" is there, in ${there.space}`
  throw new KiwiError('CONFLICT', message, {
    hint: 'Leave command, args, env and url out to use that one, or give mcp_server another name',
    fix: { call: 'load', arguments: { item_type: 'mcp', item_id: executor, source: there.space } },
    details: { tool_id: executor, path: there.path },
  })
}

function isSame({ manifest: { config } }: Item, server: JsonObject): boolean {
  return canonicalJson({ transport: 'stdio', ...config }) === canonicalJson(server)
}

async function serverManifest(id: string, config: JsonObject): Promise<WrittenItem> {
  const text = await manifestText({
    tool_id: id,
    tool_type: 'mcp_server',
    version: '1.0.0',
    description: `The MCP server ${id.replace(/^mcp_/, '')}`,
    executor: 'url' in config ? 'http_client' : 'subprocess',
    config,
  })
  return { place: 'tools', kind: 'manifest', manifest: textFile(`${id}.yaml`, text), files: [] }
}
