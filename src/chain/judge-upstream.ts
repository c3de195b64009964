import { KiwiError } from '../shared/errors.ts'
import { serverName } from '../shared/groups.ts'
import type { JsonObject } from '../shared/json.ts'
import { canonicalJson } from '../shared/json.ts'
import { realPathOf } from '../spaces/disk.ts'
import { REASONS } from '../spaces/definitions/shown-definition.ts'
import type { Item } from '../spaces/item.ts'
import { catalogKey } from '../spaces/launch-identity.ts'
import { isOwnSpace } from '../spaces/trusted-project.ts'
import type { CatalogTool, QuarantineReason } from '../store/catalog.ts'
import type { Store } from '../store/store.ts'
import type { LinkTrust } from './trust.ts'

/** Which tool of which upstream a chain leads to; no tool for the upstream itself. */
export interface JudgedUpstream {
  readonly identity: string
  readonly toolName: string | null
}

/** A chain that leads to a tool of an upstream, or to the upstream itself. */
interface Led {
  readonly leaf: Item
  readonly server: LinkTrust
  readonly toolName: string | null
  /** What the definitions of the upstream are kept under. */
  readonly key: string
}

interface Around {
  readonly projectPath: string | null
  readonly userSpace: string
  readonly store: Pick<Store, 'trust' | 'catalog'>
}

interface Standing {
  readonly refusal: KiwiError | null
  /** What the definitions of the upstream are kept under; null where a chain leads to none. */
  readonly listedUnder: string | null
}

/**
 * What stands against a tool of an upstream beside its own files: a server of the project that is not as a person has
 * trusted it, a definition that nobody let pass, a tool that the server does not list.
 */
export async function judgeUpstream(
  links: readonly LinkTrust[],
  upstream: JudgedUpstream | undefined,
  around: Around,
): Promise<Standing> {
  const [leaf] = links
  const server = links.find(({ item }) => item.manifest.tool_type === 'mcp_server')
  if (upstream === undefined || leaf === undefined || server === undefined)
    return { refusal: null, listedUnder: null }
  const key = catalogKey(upstream.identity, isVouchedServer(server))
  const led = { leaf: leaf.item, server, toolName: upstream.toolName, key }
  return { refusal: await refusalOf(led, around), listedUnder: key }
}

async function refusalOf(led: Led, { projectPath, userSpace, store }: Around): Promise<KiwiError | null> {
  const { leaf, server, toolName, key } = led
  const { space, manifest, id, contentHash } = server.item
  // What is shipped says itself what its tools are; what is switched off is not started, which is said where that is tried.
  if (space === 'builtin' || manifest.enabled === false) return null
  // At home a person works in their own space.
  const isProjects = isBound(server) && projectPath !== null && !isOwnSpace(projectPath, userSpace)
  const project = isProjects ? realPathOf(projectPath) : null
  const kept = project === null ? null : await store.trust.launch(project, id)
  if (project !== null && kept?.identity !== contentHash) return otherLaunch(leaf, server.item, kept !== null)
  if (toolName === null) return null
  return againstTool(await store.catalog.tool(key, toolName), { ...led, toolName })
}

/** Whether a person, or a publisher they accept, stands behind a server: what an agent made, or nobody signed in the registry, is nobody's word. */
export function isVouchedServer({ item, signature }: Pick<LinkTrust, 'item' | 'signature'>): boolean {
  if (signature === null || signature.state === 'signed') return signature?.by !== 'agent'
  return item.space === 'project' || item.space === 'user'
}

/** What came with a project may change with it; a signature says whose word another command is. */
function isBound({ item, signature }: LinkTrust): boolean {
  return item.space === 'project' && signature?.state !== 'signed'
}

function againstTool(
  tool: CatalogTool | null,
  { leaf, server, toolName }: Led & { readonly toolName: string },
): KiwiError | null {
  const refuse = (reason: QuarantineReason): KiwiError =>
    quarantined(leaf, server.item, tool, { reason, toolName })
  if (tool === null)
    return isVouchedServer(server) ? unlisted(leaf, server.item, toolName) : refuse('unvouched')
  if (tool.state === 'quarantined') return refuse(tool.reason ?? 'new')
  if (tool.state === 'unusable') return unusable(leaf, server.item, tool)
  // One that was never let pass is not let pass by no longer being listed.
  if (tool.approved === null) return refuse('new')
  return tool.state === 'missing' ? unlisted(leaf, server.item, toolName) : null
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

/** What a server does not list nobody has looked at, whatever a file says of it. */
function unlisted({ id }: Item, server: Item, toolName: string): KiwiError {
  const name = serverName(server.id)
  return new KiwiError(
    'NOT_FOUND',
    `Cannot call "${id}": the server "${name}" does not list the tool "${toolName}"`,
    {
      hint: `Look at what it has: load ${name}, of item_type mcp`,
      fix: { call: 'load', arguments: { item_type: 'mcp', item_id: server.id } },
      details: { reason: 'unlisted', server: server.id, tool: toolName },
    },
  )
}

function unusable({ id }: Item, server: Item, { name, findings }: CatalogTool): KiwiError {
  return new KiwiError(
    'QUARANTINED',
    `Cannot call "${id}": its definition cannot be used: ${findings.join('; ')}`,
    {
      hint: `The server has to define "${name}" once, and in a way that can be read`,
      details: { reason: 'unusable', server: server.id, tool: name },
    },
  )
}

function otherLaunch(leaf: Item, server: Item, isKnown: boolean): KiwiError {
  const command = `kiwi trust ${serverName(server.id)}`
  const why = isKnown
    ? 'is not configured as it was when it was trusted'
    : 'came to the project after it was trusted, and nobody has looked at it'
  return new KiwiError('UNTRUSTED', `Cannot run "${leaf.id}": "${server.id}" ${why}`, {
    hint: `Ask the person to look at what it starts or reaches now: ${command}`,
    details: { reason: 'launch', server: server.id, path: server.path, command },
  })
}
