import { basename, dirname } from 'node:path'
import type { JsonObject, JsonValue } from '../../shared/json.ts'
import { isJsonObject } from '../../shared/json.ts'
import { LIMITS } from '../../shared/limits.ts'
import { textOf } from '../../shared/template.ts'
import { itemTypeOf } from '../../shared/tool-type.ts'
import { list } from '../disk.ts'
import type { PackageTable } from '../imports.ts'
import type { Item } from '../item.ts'
import { entrypointOf } from '../item.ts'
import { beginningOf } from '../read-file.ts'
import type { SignatureSubject } from '../signature-candidates.ts'
import { readSignature } from '../signature-line.ts'
import { signedFileName } from '../signed-text.ts'
import type { Find } from './collect-items.ts'
import { TYPES } from './read-find.ts'

/** What an import says about an item beside what becomes of it. */
export interface Description {
  readonly version: string | null
  readonly signature: 'validated' | 'unverified' | 'unsigned' | 'signed'
  /** Whose way of writing items it follows. */
  readonly dialect: string
  readonly warnings: readonly string[]
  /** What it seems to need; nothing of it is given. */
  readonly proposed: {
    readonly secrets: readonly string[]
    readonly grants: readonly string[]
    readonly requires: readonly string[]
  }
  /** Older keys and places it was read from. */
  readonly mapped_from: readonly string[]
}

/** Works out what there is to say about an item. */
export async function describeItem(item: Item, find: Find, packageTable: PackageTable): Promise<Description> {
  const { manifest, raw } = item
  const texts = await textsOf(item)
  const [text = ''] = texts
  const { state, findings } = signatureOf(text, {
    itemType: itemTypeOf(manifest.tool_type),
    raw,
    fileName: signedFileName(item),
  })
  const older = [...Object.keys(raw), ...frontKeys(text)].filter((key) => OLDER_KEYS.has(key))
  return {
    version: manifest.version,
    signature: state,
    dialect: dialectOf(item, find, text),
    warnings: [...item.warnings, ...findings],
    proposed: {
      secrets: sortedSet([
        ...manifest.secrets,
        ...texts.flatMap(variablesIn),
        ...variablesOf(manifest.config),
      ]),
      grants: textList(manifest.config['allowed-tools']),
      requires: await packagesOf(item, find, texts, packageTable),
    },
    mapped_from: [
      ...new Set([...older, ...olderConfig(raw)]),
      ...(find.to.startsWith('tools/') && /[/\\]scripts[/\\]/.test(find.from) ? ['scripts/'] : []),
    ],
  }
}

/** The same for what is no item, or cannot be read as one: only its text is there. */
export function describeText({ entry }: Find): Description {
  const text = entry === null ? '' : beginningOf(entry.path, LIMITS.itemBytes)
  const itemType = entry === null ? 'tool' : TYPES[entry.place]
  const { state, findings } = signatureOf(text, {
    itemType,
    raw: {},
    fileName: entry === null ? null : basename(entry.path),
  })
  return {
    version: null,
    signature: state,
    dialect: familyOf(text) ?? 'kiwi',
    warnings: findings,
    proposed: { secrets: [], grants: [], requires: [] },
    mapped_from: [],
  }
}

function signatureOf(
  text: string,
  subject: SignatureSubject,
): { readonly state: Description['signature']; readonly findings: readonly string[] } {
  const { state, key, findings } = readSignature(text, subject)
  return { state: state === 'validated' && key !== null ? 'signed' : state, findings }
}

/** What it declares, else what it imports and does not bring along. */
async function packagesOf(
  { manifest, filePaths }: Item,
  { from, entry }: Find,
  texts: readonly string[],
  packageTable: PackageTable,
): Promise<readonly string[]> {
  const declared = textList(manifest.config['requires'])
  const language = LANGUAGES.get(manifest.executor ?? '')
  const source = texts.at(-1)
  if (declared.length > 0 || language === undefined || source === undefined) return declared
  const beside = entry?.kind === 'folder' ? filePaths : list(dirname(from)).map(({ name }) => name)
  const local = new Set(beside.map((path) => (path.split('/')[0] ?? '').replace(/\.\w+$/, '')))
  return packageTable.importsOf(language, source, local)
}

const LANGUAGES: ReadonlyMap<string, 'python' | 'node'> = new Map([
  ['python_runtime', 'python'],
  ['node_runtime', 'node'],
])

function olderConfig({ config, executor_config }: JsonObject): readonly string[] {
  const given = config ?? executor_config
  return isJsonObject(given) ? Object.keys(given).filter((key) => OLDER_CONFIG_KEYS.has(key)) : []
}

/** The text signatures stand in first, then what else may name variables: the script that is started. */
async function textsOf(item: Item): Promise<readonly string[]> {
  const files = await item.files()
  const entrypoint = entrypointOf(item.manifest, item.filePaths)
  const named = [item.raw['_file'], entrypoint].flatMap((name) => files.filter(({ path }) => path === name))
  const texts = named.map(({ content }) => Buffer.from(content).toString('utf8', 0, LIMITS.itemBytes))
  return [...new Set([...(item.text === null ? [] : [item.text]), ...texts])]
}

/** Keys of older manifests that are read as others now. */
const OLDER_KEYS: ReadonlySet<string> = new Set([
  'executor_id',
  'executor_config',
  'required_secrets',
  'zettel_id',
  'validated_at',
  'content_hash',
  'embedding',
])
const OLDER_CONFIG_KEYS: ReadonlySet<string> = new Set([
  'timeout_default',
  'response_path',
  'mcp_tool',
  'tool_name',
  'retry',
  'mutates_state',
])

function dialectOf({ raw, manifest }: Item, { from, entry }: Find, text: string): string {
  if (entry?.kind === 'folder' && entry.place === 'directives') return 'skill'
  const family = familyOf(text)
  if (family !== null) return family
  if (textOf(raw['executor'] ?? raw['executor_id']).startsWith('rye/')) return 'rye'
  if (manifest.tool_type === 'directive' && /<(?:filesystem|shell|network|environment)>/.test(text))
    return 'context-kiwi'
  if (/[/\\]\.context-kiwi[/\\]/.test(from)) return 'context-kiwi'
  return isJsonObject(manifest.config['requires']) ? 'ryeos' : 'kiwi'
}

/** The family a signature line names, where it is not ours. */
function familyOf(text: string): string | null {
  return /^(?:#|\/\/|<!--) (ryeos|rye):/m.exec(text.slice(0, 1024))?.[1] ?? null
}

/** What is dropped when a document is read shows only in its text. */
function frontKeys(text: string): readonly string[] {
  const [, front = ''] = /^(?:<!--[^\n]*\n\s*)?---\r?\n([^]*?)\n---/.exec(text) ?? []
  return [...front.matchAll(/^(\w+):/gm)].map(([, key = '']) => key)
}

const READS = [
  /\bos\.(?:getenv\(|environ(?:\.get\(|\[))\s*["']([A-Za-z_]\w*)["']/g,
  /\bprocess\.env(?:\.|\[["'])([A-Z_]\w*)/g,
  /\bDeno\.env\.get\(\s*["']([A-Za-z_]\w*)["']/g,
]
/** Variables every tool sees. */
const COMMON = new Set(['PATH', 'HOME', 'LANG', 'USER', 'SHELL', 'TERM', 'TMPDIR', 'TZ', 'PWD'])

function variablesIn(text: string): readonly string[] {
  return READS.flatMap((pattern) => [...text.matchAll(pattern)].map(([, name = '']) => name)).filter(
    (name) => !COMMON.has(name) && !name.startsWith('KIWI_'),
  )
}

/** `${NAME}` where a manifest reaches for variables. */
function variablesOf({ env, headers, auth, url }: JsonObject): readonly string[] {
  const text = JSON.stringify([env ?? null, headers ?? null, auth ?? null, url ?? null])
  return [...text.matchAll(/\$\{([A-Z_][A-Z0-9_]*)(?::[-+][^}]*)?\}/g)]
    .map(([, name = '']) => name)
    .filter((name) => !COMMON.has(name))
}

function textList(given: JsonValue | undefined): readonly string[] {
  if (typeof given === 'string') return given.split(/[\s,]+/).filter(Boolean)
  return Array.isArray(given) ? given.map((one) => textOf(one)) : []
}

function sortedSet(names: readonly string[]): readonly string[] {
  return [...new Set(names)].toSorted()
}
