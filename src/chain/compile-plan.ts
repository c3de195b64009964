import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { deepFreeze, sha256 } from '../shared/json.ts'
import { inputSchema, parameterNames } from '../spaces/input-schema.ts'
import { selectPath } from '../shared/json-path.ts'
import type { ToolType } from '../shared/tool-type.ts'
import { TYPE_RULES } from '../shared/tool-type.ts'
import { isListed, uncheckedFinding } from '../spaces/definitions/schema-finding.ts'
import type { Item } from '../spaces/item.ts'
import { entrypointOf } from '../spaces/item.ts'
import { compileCommand } from './command-template.ts'
import { entryStyle } from './entry-style.ts'
import { planEnvironment, withRunCommand } from './environment-plan.ts'
import { mergeConfigs } from './merge.ts'
import type { Effect, Plan } from './plan.ts'
import { compileRequest } from './request-template.ts'
import { compileServer, withServerDefaults } from './server-template.ts'
import { rulesOf } from './rules.ts'
import { sandboxOf } from './sandbox.ts'
import { withDeclared } from './secret-places.ts'
import type { Schemas } from './schemas.ts'
import { describeFindings } from './schemas.ts'
import { compileLineTerms } from './shell/line-terms.ts'

/** What depends on the content of a chain alone, so that equal content shares it wherever it lies. */
export type Compiled = Omit<Plan, 'item' | 'items' | 'links' | 'chain' | 'trust' | 'warnings'> & {
  /** What is odd about it and lets it run all the same. */
  readonly odd: readonly string[]
}

/** What can be run by itself; the others are run through it, or are not run at all. */
const RUNNABLE: ReadonlySet<ToolType> = new Set(['script', 'api', 'knowledge'])

/** Merges, validates and compiles a chain. Every fault of its config is found here, before anything is run. */
export async function compilePlan(items: readonly Item[], schemas: Schemas): Promise<Compiled> {
  const [leaf] = items
  if (leaf === undefined) throw new KiwiError('INTERNAL', 'Cannot compile an empty chain')
  const { manifest } = leaf
  const isRunnable = RUNNABLE.has(manifest.tool_type)
  // A tool of a server says which of its tools it is; the server alone says what is started.
  const started = isRunnable ? items : serverIn(items)
  const config = started.length === 0 ? {} : await checkedConfig(started, schemas)
  const files = filesOf(leaf)
  const effect = await compileEffect(leaf, started, config)
  return deepFreeze({
    config,
    hasFiles: files.length > 0,
    effect,
    sandbox: started.length === 0 ? null : sandboxOf(items),
    rules: rulesOf(items),
    ...(await parameterCheck(leaf, schemas)),
    checkOutput:
      manifest.outputs === undefined
        ? null
        : await schemas.compile(manifest.outputs, `the outputs of "${leaf.id}"`, leaf.space === 'builtin'),
    secrets: new Set([
      ...items.flatMap((item) => item.manifest.secrets),
      ...proposedSecrets(config, !isRunnable),
    ]),
    digest: digestOf(items),
    ...harmOf(items, effect),
  })
}

/** What a server says of its tool nobody here can correct: where it cannot be read, the server itself checks. */
async function parameterCheck(
  leaf: Item,
  schemas: Schemas,
): Promise<Pick<Compiled, 'checkParameters' | 'odd'>> {
  try {
    const what = `the parameters of "${leaf.id}"`
    const { input_schema: own, parameters } = leaf.manifest
    const isOurs = leaf.space === 'builtin' || (own === undefined && parameters.length === 0)
    return { checkParameters: await schemas.compile(inputSchema(leaf.manifest), what, isOurs), odd: [] }
  } catch (error) {
    if (!(error instanceof KiwiError) || !isListed(leaf)) throw error
    if (error.code === 'INVALID_MANIFEST')
      return { checkParameters: () => null, odd: [uncheckedFinding(error.message)] }
    throw new KiwiError(error.code, error.message, {
      hint: 'Its server defines it so, and only its author can change that: use another tool of the server, or tell the person',
      cause: error,
    })
  }
}

/**
 * Variables in the places of credentials: written there they are asked for as if they were declared, and granted no
 * more. Many a server takes its own on the command line.
 */
function proposedSecrets(config: JsonObject, isServer: boolean): readonly string[] {
  const { env, headers, auth, oauth, url, url_template, command, args, cwd } = config
  const started = isServer ? [command, args, cwd] : []
  const text = JSON.stringify([env, headers, auth, oauth, url, url_template, ...started])
  return [...text.matchAll(/(?<!\$)\$\{([A-Za-z_]\w*)/g)].map(([, name = '']) => name)
}

/** Content is only read. What a request sends has left the machine, whatever the service does with it. */
function harmOf(
  items: readonly Item[],
  { kind }: Effect,
): Readonly<Record<'isReadOnly' | 'isRepeatable', boolean>> {
  const [leaf] = items
  const isContent = kind === 'content'
  const isUnchanging = isContent || leaf?.manifest.mutates_state === false
  const isShipped = items.every(({ space }) => space === 'builtin')
  return {
    isReadOnly: isUnchanging && isShipped && kind !== 'http_client',
    isRepeatable: isUnchanging || leaf?.manifest.idempotent === true,
  }
}

/** Hash of the leaf and of every executor that is not shipped: when one of them changes, its grants are void. */
export function digestOf(items: readonly Item[]): string {
  const own = items.filter(({ space }, at) => at === 0 || space !== 'builtin')
  return sha256(own.map((item) => `${item.id} ${item.contentHash}`).join('\n'))
}

async function checkedConfig(items: readonly Item[], schemas: Schemas): Promise<JsonObject> {
  const found = await entryStyle(items)
  const layers = items
    .map(({ id, manifest }, at) => ({
      id,
      config: at === 0 ? { ...found, ...manifest.config } : manifest.config,
      locked: manifest.locked,
    }))
    .toReversed()
  const merged = withRunCommand(mergeConfigs(layers))
  const isServer = items[0]?.manifest.tool_type === 'mcp_server'
  const config: JsonObject = structuredClone(isServer ? withServerDefaults(merged) : merged)
  for (const { id, manifest, space } of items.toReversed()) {
    if (manifest.config_schema === undefined) continue
    const what = `the config_schema of "${id}"`
    const check = await schemas.compile(manifest.config_schema, what, space === 'builtin')
    // Checking fills in defaults, and only the primitive's may count: the others would come round merge and locks.
    const findings = check(manifest.tool_type === 'primitive' ? config : structuredClone(config))
    if (findings === null) continue
    throw new KiwiError(
      'INVALID_CONFIG',
      `Cannot run "${items[0]?.id}": its config does not fit "${id}": ${describeFindings(findings)}`,
      {
        hint:
          items[0]?.form === 'entry'
            ? `Correct these keys in ${items[0].path}`
            : 'Correct these keys under "config" in the manifest',
        details: { ...findings, tool: id },
      },
    )
  }
  return config
}

function filesOf({ manifest, filePaths }: Item): readonly string[] {
  return TYPE_RULES[manifest.tool_type].hasFiles ? filePaths : []
}

/**
 * The server that a chain stands on, and what that is made of; none for a tool that others put on a shipped server: it
 * has its shipped tools and no others, which say what is judged before it does what it is told.
 */
function serverIn(items: readonly Item[]): readonly Item[] {
  const [leaf, server] = items
  if (leaf?.manifest.tool_type === 'mcp_server') return items
  if (leaf?.manifest.tool_type !== 'mcp_tool' || server === undefined) return []
  const isForeign =
    server.space === 'builtin' && server.manifest.enabled !== false && leaf.space !== 'builtin'
  return isForeign ? [] : items.slice(1)
}

async function compileEffect(leaf: Item, started: readonly Item[], config: JsonObject): Promise<Effect> {
  if (started.length === 0) return { kind: 'none' }
  const [server] = started
  const effect = await compileEnd(started, config)
  if (server?.manifest.tool_type !== 'mcp_server') return effect
  return compileServer({ leaf, server, config, end: effect })
}

async function compileEnd(items: readonly Item[], config: JsonObject): Promise<Effect> {
  const [leaf] = items
  const end = items.at(-1)
  if (leaf === undefined || end === undefined || end.manifest.tool_type !== 'primitive')
    return { kind: 'content' }
  const names = parameterNames(leaf.manifest)
  const files = filesOf(leaf)
  switch (end.id) {
    case 'subprocess': {
      if (config['line'] === true) return { kind: 'line', terms: compileLineTerms(config) }
      const entrypoint = entrypointOf({ ...leaf.manifest, config }, files)
      if (entrypoint !== null && !files.includes(entrypoint)) {
        throw new KiwiError('INVALID_CONFIG', `Cannot run "${leaf.id}": it has no file "${entrypoint}"`, {
          hint: 'Add the file to the item, or correct config.entrypoint',
        })
      }
      const declared = items.flatMap(({ manifest }) => manifest.secrets)
      const command = withDeclared(compileCommand(config, names, entrypoint), declared)
      const environment = planEnvironment(items, config, entrypoint)
      const runtime = items[1]
      const usesRuntimeFiles = command.usesRuntimeFiles || environment?.usesRuntimeFiles === true
      if (usesRuntimeFiles && runtime?.filePaths.length === 0) {
        throw new KiwiError(
          'INVALID_CONFIG',
          `Cannot fill in "{runtime_path}": "${runtime.id}" has no files of its own`,
        )
      }
      return { kind: 'subprocess', command, environment }
    }
    case 'http_client': {
      const request = compileRequest(config, names)
      // A path that cannot be read must not be found out after the request was sent.
      if (request.transform !== null) await selectPath(null, request.transform)
      return { kind: 'http_client', request }
    }
    default:
      throw new KiwiError('NO_PRIMITIVE', `Cannot run "${leaf.id}": "${end.id}" is not a primitive of Kiwi`)
  }
}
