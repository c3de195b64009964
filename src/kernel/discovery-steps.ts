import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { canonicalJson, isJsonObject, sha256 } from '../shared/json.ts'
import { textOf } from '../shared/template.ts'
import { list } from '../spaces/disk.ts'
import { editManifest } from '../spaces/edit-manifest.ts'
import type { Item } from '../spaces/item.ts'
import { listedManifest } from '../spaces/listed-item.ts'
import type { Server } from '../spaces/listed.ts'
import type { Lookup } from '../spaces/lookup.ts'
import { ItemName } from '../shared/ids.ts'
import type { WrittenItem } from '../spaces/written-item.ts'
import { manifestText, textFile, writtenOf } from '../spaces/written-item.ts'
import type { CatalogTool } from '../store/catalog.ts'
import type { Authored } from './author.ts'
import { author } from './author.ts'
import type { Caller } from './call.ts'
import type { Means } from './means.ts'
import { freePatch } from './next-version.ts'

export interface Discovering {
  readonly server: Server
  readonly location: 'project' | 'user'
  /** Where what was discovered before lies. */
  readonly folder: string
  readonly lookup: Lookup
  readonly means: Means
  readonly by: Caller['kind']
}

/** What becomes of one tool. */
export interface Step {
  readonly id: string
  /** As the server names it. */
  readonly tool: string
  readonly state: 'created' | 'updated' | 'unchanged' | 'removed'
  /** Where it lies now; null when it is not there yet. */
  readonly path: string | null
  readonly before: Item | null
  /** What is to be written; null when it stays as it is. */
  readonly authored: Authored | null
}

export interface DiscoverySteps {
  readonly steps: readonly Step[]
  /** Names of tools that a person has to look at first: nothing of them is written. */
  readonly quarantined: ReadonlySet<string>
  readonly warnings: readonly string[]
}

/** Everything is read and checked before the first byte is written. One that cannot be an item does not lose the others. */
export async function discoverySteps(
  tools: readonly CatalogTool[],
  discovering: Discovering,
): Promise<DiscoverySteps> {
  const steps: Step[] = []
  const warnings: string[] = []
  const names = new Set(tools.filter(({ state }) => state !== 'missing').map(({ name }) => name))
  const quarantined = tools.filter(({ state }) => state === 'quarantined').map(({ name }) => name)
  for (const tool of tools) {
    try {
      const step = await stepOf(tool, names, discovering)
      if (step !== null) steps.push(step)
    } catch (error) {
      if (!(error instanceof KiwiError)) throw error
      warnings.push(`"${tool.name}" is left out: ${error.message}`)
    }
  }
  const left = await leftBehind(new Set(steps.map(({ id }) => id)), discovering)
  return { steps: [...steps, ...left], quarantined: new Set(quarantined), warnings }
}

/** What was written for tools that agents see no more, or under another name: it is marked like what is gone. */
async function leftBehind(now: ReadonlySet<string>, discovering: Discovering): Promise<readonly Step[]> {
  const { folder, location, lookup, server } = discovering
  const steps: Step[] = []
  for (const { name } of list(folder)) {
    const id = ItemName.safeParse(name.replace(/\.yaml$/, ''))
    if (!id.success || now.has(id.data)) continue
    const before = await lookup.standing(id.data, 'tool', location)
    const { config = {}, executor } = before?.manifest ?? {}
    if (before === null || config['mcp_pin'] === undefined || executor !== server.item.id) continue
    const tool = textOf(config['mcp_tool_name'])
    steps.push({ id: id.data, tool, path: before.path, before, ...(await gone(before, discovering)) })
  }
  return steps
}

async function gone(before: Item, discovering: Discovering): Promise<Pick<Step, 'state' | 'authored'>> {
  const { config } = before.manifest
  const change = { config: { ...config, mcp_state: 'missing' } }
  const isMarked = config['mcp_state'] === 'missing'
  return { state: 'removed', authored: isMarked ? null : await changed(before, change, discovering) }
}

async function stepOf(
  tool: CatalogTool,
  names: ReadonlySet<string>,
  discovering: Discovering,
): Promise<Step | null> {
  const { server, location, lookup } = discovering
  // What is gone is found by the name it had.
  const manifest = listedManifest(
    tool.state === 'missing' ? { ...tool, state: 'usable' } : tool,
    server,
    names,
  )
  const id = ItemName.safeParse(manifest?.['tool_id'])
  if (manifest === null || !id.success) return null
  const before = await lookup.standing(id.data, 'tool', location)
  const step = { id: id.data, tool: tool.name, path: before?.path ?? null, before }
  if (before === null) {
    if (tool.state !== 'usable') return null
    const authored = await made(pinned(manifest, tool, server), id.data, discovering)
    return { ...step, state: 'created', authored }
  }
  return { ...step, ...(await stepFrom(before, manifest, tool, discovering)) }
}

/** What becomes of an item that is there. */
async function stepFrom(
  before: Item,
  manifest: JsonObject,
  tool: CatalogTool,
  discovering: Discovering,
): Promise<Pick<Step, 'state' | 'authored'>> {
  const { config } = before.manifest
  if (tool.state === 'missing') return gone(before, discovering)
  // Until a person has looked at it, what is there stays: it says nothing of what is new.
  if (tool.state === 'quarantined')
    return { state: tool.reason === 'changed' ? 'updated' : 'unchanged', authored: null }
  const isOwn = config['mcp_pin'] === undefined
  const next = pinned(manifest, tool, discovering.server)
  const isSame = config['mcp_pin'] === configOf(next)['mcp_pin'] && config['mcp_state'] === undefined
  // What somebody wrote by hand is theirs.
  if (isOwn || isSame) return { state: 'unchanged', authored: null }
  return { state: 'updated', authored: await changed(before, next, discovering) }
}

/** With what it was made from, so that another definition, or another wish of a person, is told from the same one. */
function pinned(manifest: JsonObject, { pin, raw }: CatalogTool, { overrides }: Server): JsonObject {
  const shown = canonicalJson(overrides.show(raw)?.definition ?? raw)
  const from = shown === canonicalJson(raw) ? pin : sha256(`${pin} ${shown}`)
  return { ...manifest, config: { ...configOf(manifest), mcp_pin: from } }
}

function configOf({ config }: JsonObject): JsonObject {
  return isJsonObject(config) ? config : {}
}

async function made(manifest: JsonObject, id: string, discovering: Discovering): Promise<Authored> {
  const text = await manifestText({ ...manifest, version: '1.0.0' })
  return authorIt(
    { place: 'tools', kind: 'manifest', manifest: textFile(`${id}.yaml`, text), files: [] },
    id,
    discovering,
  )
}

/** What the server says goes over what is there; what somebody else wrote beside it stays. */
async function changed(before: Item, keys: JsonObject, discovering: Discovering): Promise<Authored> {
  const { category: _category, ...said } = keys
  const present = await writtenOf(before)
  const version = await freePatch(before.id, before.manifest.version, discovering.means.store.registry)
  const changes = { ...said, version }
  const text = await editManifest(Buffer.from(present.manifest.content).toString('utf8'), changes, before.id)
  const manifest = { ...present.manifest, content: Buffer.from(text) }
  return authorIt({ ...present, manifest }, before.id, discovering)
}

function authorIt(
  written: WrittenItem,
  stem: string,
  { location, lookup, means, server }: Discovering,
): Promise<Authored> {
  const quiet = { ...lookup, freshen: () => undefined }
  const category = `mcp/${server.name}`
  return author(written, { action: 'discover', stem, category, location, lookup: quiet, means })
}
