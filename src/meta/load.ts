import type { Understood } from '../kernel/call.ts'
import { judgedItem } from '../kernel/item-demand.ts'
import { RESULT_PREFIX, pageArguments } from '../kernel/results.ts'
import { KiwiError, messageOf } from '../shared/errors.ts'
import { parseItemRef } from '../shared/ids.ts'
import type { JsonObject } from '../shared/json.ts'
import { canonicalJson, isJsonObject } from '../shared/json.ts'
import { LIMITS } from '../shared/limits.ts'
import { pageBytes, pageOf } from '../shared/page.ts'
import { itemTypeOf } from '../shared/tool-type.ts'
import { withInputs } from '../spaces/directive/with-inputs.ts'
import { inputSchema } from '../spaces/input-schema.ts'
import type { Item } from '../spaces/item.ts'
import { entrypointOf } from '../spaces/item.ts'
import type { Lookup } from '../spaces/lookup.ts'
import { extraKeys } from '../spaces/manifest.ts'
import { ChangedMeanwhile } from '../spaces/read-steadily.ts'
import { readyCall } from '../spaces/ready-call.ts'
import { withoutValues } from '../spaces/server-item.ts'
import type { Arguments } from './arguments.ts'
import { objectOf, readItemType } from './arguments.ts'
import type { MetaCall } from './context.ts'
import { findItem } from './find-item.ts'
import { deniedText } from './judged.ts'
import { listFirst, outlineOf, serverPart, withMetadata } from './load-server.ts'
import { relatedTo } from './related.ts'

export interface Loaded {
  readonly data: JsonObject
  readonly warnings: readonly string[]
}

/** Shows an item whole, a page of one of its files, or a page of a large result. */
export async function load(args: Arguments<'load'>, call: MetaCall): Promise<Loaded> {
  if (args.path?.startsWith(RESULT_PREFIX)) return loadResult(args, call)
  const lookup = await call.lookupAt(args.project_path)
  const listed = await listFirst(args, lookup, call)
  const item = await find(args, lookup).catch((error: unknown) => {
    const isMissing = error instanceof KiwiError && error.code === 'NOT_FOUND'
    throw isMissing ? (listed.failure ?? error) : error
  })
  if (args.path !== undefined) return loadFile(args, item, args.path)
  const { data, warnings } = await show(item, args.depth, lookup, call)
  const more = await serverPart(item, listed.isFresh, lookup, call)
  const whole = withMetadata(data, more)
  const outline = outlineOf(more)
  return {
    data: outline === null ? whole : await call.kernel.fit(call.ticket, whole, outline),
    warnings: [...listed.warnings, ...warnings],
  }
}

/** What `load` with a destination shows, and what it asks for. */
export async function loadForCopy(
  args: Arguments<'load'>,
  call: MetaCall,
): Promise<Loaded & { readonly understood: Understood }> {
  if (args.path !== undefined) {
    throw new KiwiError('INVALID_PARAMETERS', `Cannot copy "${args.item_id}": items are copied whole`, {
      hint: 'Leave out "path" to copy the item, or "destination" to read the file',
      details: { missing: [], invalid: [{ name: 'path', reason: 'not together with destination' }] },
    })
  }
  const { lookup, sessionProject } = await call.workplaceAt(args.project_path)
  const item = await find(args, lookup)
  const { destination = 'project', overwrite } = args
  return {
    ...(await show(item, args.depth, lookup, call)),
    understood: {
      wish: { kind: 'copy', item, destination, overwrite },
      lookup,
      sessionProject,
      isDryRun: false,
    },
  }
}

async function find(args: Arguments<'load'>, lookup: Lookup): Promise<Item> {
  const itemType = readItemType(args.item_type)
  const ref = parseItemRef(args.item_id, args.version)
  for (let tries = 1; ; tries++) {
    const item = await findItem(lookup, ref, itemType, args.source)
    try {
      const files = await item.files()
      return { ...item, files: async () => files }
    } catch (error) {
      if (!(error instanceof ChangedMeanwhile) || tries >= MOST_TRIES) throw error
    }
    lookup.freshen(true)
  }
}

/** Looks that are made at an item that others change meanwhile. */
const MOST_TRIES = 10

async function show(item: Item, depth: number, lookup: Lookup, { kernel, store }: MetaCall): Promise<Loaded> {
  const { manifest } = item
  const files = await item.files()
  const bytes = files.reduce((sum, { content }) => sum + content.length, 0)
  const entrypoint = entrypointOf(
    manifest,
    files.map(({ path }) => path),
  )
  const isInline = bytes <= LIMITS.resultBytes
  // The text of a document is one of its files already.
  const isTextShown = isInline || manifest.tool_type !== 'knowledge'
  const warnings = [...item.warnings]
  const chain = await kernel.chainOf(item, lookup).catch((error: unknown) => {
    warnings.push(messageOf(error))
    return null
  })
  if (chain !== null && chain.refusal !== null) warnings.push(chain.refusal.message)
  const denied = (await kernel.itemJudge(lookup.projectPath)).refusalOf(judgedItem(item))
  if (denied !== null) warnings.push(`it may not be run here: ${deniedText(denied)}`)
  const finding = await ownFinding(item, kernel)
  if (finding !== null) warnings.push(finding)
  const versions = await store.versions(item.id)
  const called = await withInputs(item, lookup)
  const related = await relatedTo(item, depth, lookup)
  warnings.push(...related.warnings)
  return {
    data: {
      name: item.id,
      item_type: itemTypeOf(manifest.tool_type),
      tool_type: manifest.tool_type,
      description: manifest.description,
      version: manifest.version,
      source: item.space,
      path: item.path,
      ...writtenOf(item, isTextShown),
      files: files.map(({ path, content }) => ({
        path,
        bytes: content.length,
        is_entrypoint: path === entrypoint,
        ...(isInline ? { content: Buffer.from(content).toString('utf8') } : {}),
      })),
      parameters: inputSchema(called.manifest),
      ...related.data,
      versions: versions.map((version) => ({ ...version })),
      chain: chain === null ? null : chain.links.map((link) => objectOf({ ...link })),
      content_hash: item.contentHash,
      grant_hash: chain?.digest ?? null,
      trust: chain?.trust ?? null,
      signature: chain?.signature ?? null,
      call_example: readyCall(called.manifest),
      destination: null,
    },
    warnings: isInline
      ? warnings
      : [...warnings, 'the files are large: read each with path, offset and limit'],
  }
}

/** A piece of knowledge may bring a schema for the keys that are its own. */
async function ownFinding({ manifest }: Item, { schemaFinding }: MetaCall['kernel']): Promise<string | null> {
  const { tool_type: type, schema } = manifest
  if (type !== 'knowledge' || !isJsonObject(schema)) return null
  return schemaFinding(schema, extraKeys(manifest))
}

/** What its author wrote. Of a server no value that may be a secret is shown, so neither is a text that holds one. */
function writtenOf({ manifest, raw, text }: Item, isTextShown: boolean): JsonObject {
  const metadata = manifest.tool_type === 'mcp_server' ? withoutValues(raw) : raw
  const isWhole = canonicalJson(metadata) === canonicalJson(raw)
  return { metadata, content: isTextShown && isWhole ? text : null }
}

async function loadFile({ offset, limit }: Arguments<'load'>, item: Item, path: string): Promise<Loaded> {
  const file = (await item.files()).find((candidate) => candidate.path === path)
  if (file === undefined) {
    throw new KiwiError('NOT_FOUND', `Cannot find the file "${path}" in "${item.id}"`, {
      fix: { call: 'load', arguments: { item_type: itemTypeOf(item.manifest.tool_type), item_id: item.id } },
    })
  }
  const { length } = file.content
  const bytes = file.content.subarray(offset, offset + pageBytes(length, offset, limit))
  return { data: { path, ...pageOf(bytes, offset, length) }, warnings: [] }
}

async function loadResult(
  { item_id, path = '', offset, limit }: Arguments<'load'>,
  { kernel }: MetaCall,
): Promise<Loaded> {
  const handle = path.slice(RESULT_PREFIX.length)
  const page = await kernel.resultPage(handle, offset, limit)
  const next =
    page.next_offset === null
      ? null
      : { call: 'load', arguments: { ...pageArguments(item_id, handle, page.next_offset), limit } }
  return { data: objectOf({ path, ...page, next }), warnings: [] }
}
