import { KiwiError } from '../shared/errors.ts'
import { serverName } from '../shared/groups.ts'
import type { JsonObject } from '../shared/json.ts'
import { canonicalJson } from '../shared/json.ts'
import { realPathOf } from '../spaces/disk.ts'
import { REASONS } from '../spaces/definitions/shown-definition.ts'
import type { Item } from '../spaces/item.ts'
import type { CatalogTool, QuarantineReason } from '../store/catalog.ts'
import type { Launch, Store } from '../store/store.ts'
import type { LinkTrust } from './trust.ts'

/** Which tool of which upstream a chain leads to; no tool for the upstream itself. */
export interface JudgedUpstream {
  readonly identity: string
  readonly toolName: string | null
}

interface Standing {
  readonly refusal: KiwiError | null
  /** How its server is started, where that is to be kept once it is. */
  readonly launch: Pick<Launch, 'project' | 'server' | 'identity'> | null
}

const NOTHING: Standing = { refusal: null, launch: null }

/** What stands against a tool of an upstream beside its own files: another command than was trusted, a definition that nobody let pass. */
export async function judgeUpstream(
  links: readonly LinkTrust[],
  { identity, toolName }: JudgedUpstream,
  projectPath: string | null,
  { trust, catalog }: Pick<Store, 'trust' | 'catalog'>,
): Promise<Standing> {
  const [leaf] = links
  const server = links.find(({ item }) => item.manifest.tool_type === 'mcp_server')
  if (leaf === undefined || server === undefined) return NOTHING
  // What is shipped says itself what its tools are.
  if (leaf.item.space === 'builtin' && leaf !== server) return NOTHING
  const project = isBound(server) && projectPath !== null ? realPathOf(projectPath) : null
  const kept = project === null ? null : await trust.launch(project, server.item.id)
  if (kept !== null && kept !== identity)
    return { refusal: changedLaunch(leaf.item, server.item), launch: null }
  const launch = project === null || kept !== null ? null : { project, server: server.item.id, identity }
  if (toolName === null) return { refusal: null, launch }
  const tool = await catalog.tool(identity, toolName)
  const reason = reasonAgainst(tool, isVouchedServer(server))
  return {
    refusal: reason === null ? null : quarantined(leaf.item, server.item, tool, { reason, toolName }),
    launch,
  }
}

/** Whether a person, or a publisher they accept, stands behind a server: what an agent made, or nobody signed in the registry, is nobody's word. */
export function isVouchedServer({ item, signature }: LinkTrust): boolean {
  if (signature === null || signature.state === 'signed') return signature?.by !== 'agent'
  return item.space === 'project' || item.space === 'user'
}

/** What came with a project may change with it; a signature says whose word another command is. */
function isBound({ item, signature }: LinkTrust): boolean {
  return item.space === 'project' && signature?.state !== 'signed'
}

function reasonAgainst(tool: CatalogTool | null, isVouched: boolean): QuarantineReason | null {
  if (tool === null) return isVouched ? null : 'unvouched'
  if (tool.state === 'quarantined') return tool.reason ?? 'new'
  // One that was never let pass is not let pass by no longer being listed.
  return tool.approved === null && tool.state !== 'unusable' ? 'new' : null
}

function quarantined(
  leaf: Item,
  server: Item,
  tool: CatalogTool | null,
  { reason, toolName }: { readonly reason: QuarantineReason; readonly toolName: string },
): KiwiError {
  const changed = reason === 'changed' && tool !== null ? changedFields(tool) : null
  const why = changed === null ? REASONS[reason] : `its ${changed} changed since it was let pass`
  // Where nothing is listed yet the server as a whole is looked at.
  const command = `kiwi trust ${serverName(server.id)}${tool === null ? '' : `.${toolName}`}`
  return new KiwiError('QUARANTINED', `Cannot call "${leaf.id}": ${why}`, {
    hint: `Ask the person to look at it: ${command}`,
    details: { reason, server: server.id, tool: toolName, pin: tool?.pin ?? null, command },
  })
}

/** Only by names that are ours: what else an upstream calls its fields is its text. */
const FIELDS = ['title', 'description', 'inputSchema', 'outputSchema', 'annotations']

function changedFields({ raw, approved }: CatalogTool): string | null {
  const before: JsonObject = approved ?? {}
  const all = [...new Set([...Object.keys(raw), ...Object.keys(before)])]
  const changed = all.filter((field) => canonicalJson(raw[field]) !== canonicalJson(before[field]))
  return changed.length > 0 && changed.every((field) => FIELDS.includes(field)) ? changed.join(' and ') : null
}

function changedLaunch(leaf: Item, server: Item): KiwiError {
  const command = `kiwi trust ${serverName(server.id)}`
  return new KiwiError(
    'UNTRUSTED',
    `Cannot run "${leaf.id}": "${server.id}" is started or reached in another way than when it was trusted`,
    {
      hint: `Ask the person to look at what it starts now: ${command}`,
      details: { reason: 'launch', server: server.id, path: server.path, command },
    },
  )
}
