import { readFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import { z } from 'zod'
import { KiwiError, errnoOf, messageOf } from '../shared/errors.ts'
import { IN_WORDS, fieldFaults } from '../shared/field-faults.ts'
import type { LogLevel } from '../shared/log.ts'
import { LOG_LEVELS } from '../shared/log.ts'
import type { Environment } from './environment.ts'
import { readWholeNumber } from './whole-number.ts'
import { isWithinCall } from './within-call.ts'

/** A person's yes: this tool, in exactly this content, may read these variables. */
const Grant = z.strictObject({
  tool: z.string().min(1),
  hash: z.string().regex(/^[0-9a-f]{64}$/, 'the content hash that load shows'),
  names: z.array(z.string().min(1)),
})
export type Grant = z.infer<typeof Grant>

/** A key whose signatures a person accepts for the items of one namespace. */
const Publisher = z.strictObject({
  name: z.string().min(1),
  key: z.string().refine(isPublicKey, 'not an Ed25519 key in base64'),
  namespace: z.string().min(1),
  revoked: z.boolean().default(false),
})
export type Publisher = z.infer<typeof Publisher>

/** Its 32 bytes, or these behind the header that other programs write. */
function isPublicKey(base64: string): boolean {
  const bytes = Buffer.from(base64, 'base64')
  const header = bytes.subarray(0, -32).toString('hex')
  return bytes.length >= 32 && ['', '302a300506032b6570032100'].includes(header)
}

/** What is kept of the results of runs: how many of each tool, and from which size on. */
const Outputs = z.strictObject({
  keep: z.number().int().min(0).max(10_000),
  min_bytes: z.number().int().min(0),
})

/** Around which runs everything below the project is kept: those that say they change something, or all. */
const Undo = z.strictObject({ cover: z.enum(['declared', 'all']) })
/** Whether a project's records are mirrored in its `.ai/logs`, and whether all of them survive a power cut. */
const Audit = z.strictObject({
  mirror: z.boolean(),
  sync: z.enum(['normal', 'full']),
})

/** In place of the tool that makes vectors for search: nothing does. */
export const NO_EMBEDDER = 'none'

/** The tool that makes vectors for search, the milliseconds that a search waits for one, and whether uses teach it. */
const Search = z.strictObject({
  embedder: z.string().min(1),
  model: z.string().min(1),
  wait_ms: z.number().int().min(0).max(10_000),
  learn: z.boolean(),
})

/** Where packages come from, by language: what each setting becomes is data of the runtime. */
const Packages = z.record(
  z.string().min(1),
  z.record(z.string().min(1), z.union([z.string().min(1), z.boolean(), z.array(z.string().min(1))])),
)

/** The settings a person may give, in `kiwi.json` of the user space. A project's file may never widen them. */
const Settings = z.strictObject({
  store: z.string().min(1),
  port: z.number().int().min(0).max(65_535),
  log_level: z.enum(LOG_LEVELS),
  allow_hosts: z.array(z.string().min(1)),
  grants: z.array(Grant),
  watch: z.boolean(),
  publishers: z.array(Publisher),
  outputs: Outputs.partial(),
  packages: Packages,
  undo: Undo.partial(),
  audit: Audit.partial(),
  search: Search.partial(),
})
type Settings = z.infer<typeof Settings>

type Source = 'default' | 'file' | 'environment' | 'flag'

export interface Config {
  /** Where the person's own items, settings, token and store live. */
  readonly userSpace: string
  /** Environments, work folders and kept results: everything here can be made again. */
  readonly cache: string
  readonly home: string
  /** What whoever administers the machine lets agents do. */
  readonly machineHarness: string
  /** What git knows of projects for us, so that what programs change can be undone. */
  readonly trees: string
  readonly file: string
  readonly token: string
  /** The person's own signing key, and its public half to hand out. */
  readonly key: string
  readonly publicKey: string
  /** Seals what a person has decided. No tool may read it. */
  readonly approverKey: string
  /** The encrypted secrets, and what opens them where neither keychain nor passphrase does. */
  readonly vault: VaultPlaces
  readonly store: string
  /** Beside the store: signed heads of its journal. */
  readonly heads: string
  readonly port: number
  readonly logLevel: LogLevel
  readonly allowHosts: readonly string[]
  readonly grants: readonly Grant[]
  /** Whether the system is asked to report changes of item files, which spares the look at all of them. */
  readonly watch: boolean
  readonly publishers: readonly Publisher[]
  readonly outputs: OutputSettings
  readonly packages: z.infer<typeof Packages>
  readonly undo: z.infer<typeof Undo>
  readonly audit: z.infer<typeof Audit>
  /** What makes vectors for search; an embedder of null: what is shipped does, and nothing is sent anywhere. */
  readonly search: SearchSettings
  /** Where each setting came from, for `kiwi doctor`. */
  readonly sources: Readonly<Sources & Record<'user_space', Source>>
  readonly environment: Environment
}

interface VaultPlaces {
  readonly path: string
  readonly keyFile: string
  readonly passphrase: string | null
}

export interface SearchSettings {
  readonly embedder: string | null
  /** Null: the one that the embedder itself chooses. */
  readonly model: string | null
  readonly waitMs: number
  /** Whether search learns from what is used after it. */
  readonly learn: boolean
}

export interface OutputSettings {
  readonly keep: number
  readonly minBytes: number
}

export type Flags = Partial<Pick<Settings, 'port' | 'log_level'>>

/** Defaults, then the file, then KIWI_* variables, then flags: the later wins. */
export function loadConfig(given: Environment, flags: Flags = {}): Config {
  refuseWithinCall(given)
  // What opens the vault is handed to nobody, not even where a person granted all variables.
  const { KIWI_VAULT_PASSPHRASE: passphrase = '', ...environment } = given
  const home = homeOf(environment)
  const named =
    environment['KIWI_USER_SPACE'] || environment['USER_SPACE'] || environment['AI_USER_SPACE'] || null
  const userSpace = resolve(named === null ? join(home, '.ai') : expandHome(named, home))
  const file = join(userSpace, 'kiwi.json')
  const { settings, sources } = settle(join(userSpace, 'kiwi.db'), [
    ['file', readFile(file)],
    ['environment', readVariables(environment)],
    ['flag', check(flags, 'the flags')],
  ])
  const cache = join(cacheHome(environment) ?? join(home, '.cache'), 'kiwi')
  const store = resolve(userSpace, expandHome(settings.store, home))
  return {
    userSpace,
    cache,
    home,
    machineHarness: '/etc/kiwi/agent_harness.yaml',
    trees: join(cache, 'trees'),
    file,
    token: join(userSpace, 'kiwi.token'),
    key: join(userSpace, 'kiwi.key'),
    publicKey: join(userSpace, 'kiwi.pub'),
    approverKey: join(userSpace, 'kiwi.approver'),
    vault: {
      path: join(userSpace, 'kiwi.vault'),
      keyFile: join(userSpace, 'kiwi.vault.key'),
      passphrase: passphrase === '' ? null : passphrase,
    },
    store,
    heads: `${store.replace(/\.db$/, '')}.heads.jsonl`,
    port: settings.port,
    logLevel: settings.log_level,
    allowHosts: settings.allow_hosts,
    grants: settings.grants,
    watch: settings.watch,
    publishers: settings.publishers,
    outputs: { keep: settings.outputs.keep ?? 10, minBytes: settings.outputs.min_bytes ?? 0 },
    packages: settings.packages,
    undo: { cover: settings.undo.cover ?? 'declared' },
    audit: { mirror: settings.audit.mirror ?? true, sync: settings.audit.sync ?? 'normal' },
    search: searchOf(settings.search),
    sources: { ...sources, user_space: named === null ? 'default' : 'environment' },
    environment: Object.freeze(environment),
  }
}

function searchOf({ embedder, model, wait_ms, learn }: Settings['search']): SearchSettings {
  return { embedder: embedder ?? null, model: model ?? null, waitMs: wait_ms ?? 300, learn: learn ?? true }
}

/** A tool that starts Kiwi would call as the person itself. */
function refuseWithinCall(environment: Environment): void {
  if (!isWithinCall(environment)) return
  throw new KiwiError('PERMISSION_DENIED', 'Cannot start kiwi from a tool', {
    hint: 'Call search, load, execute or help instead of starting kiwi from a tool',
    details: { layer: 'machine', rule: 'machine/own-program', op: 'exec', resource: 'kiwi' },
  })
}

type Sources = Record<keyof Settings, Source>

function settle(
  store: string,
  layers: readonly (readonly [Source, Partial<Settings>])[],
): { settings: Settings; sources: Sources } {
  let settings: Settings = {
    store,
    port: 7717,
    log_level: 'warn',
    allow_hosts: [],
    grants: [],
    publishers: [],
    outputs: {},
    packages: {},
    undo: {},
    audit: {},
    search: {},
    watch: false,
  }
  let sources: Sources = {
    store: 'default',
    port: 'default',
    log_level: 'default',
    allow_hosts: 'default',
    grants: 'default',
    watch: 'default',
    publishers: 'default',
    outputs: 'default',
    packages: 'default',
    undo: 'default',
    audit: 'default',
    search: 'default',
  }
  for (const [source, layer] of layers) {
    settings = { ...settings, ...layer }
    sources = { ...sources, ...Object.fromEntries(Object.keys(layer).map((key) => [key, source])) }
  }
  return { settings, sources }
}

/** The schema of `kiwi.json`, for the reference page. */
export function describeSettings(): unknown {
  return z.toJSONSchema(Settings.partial())
}

/** A relative home would make a user space of whatever folder Kiwi is started in, and a stranger's grants our own. */
function homeOf(environment: Environment): string {
  const home = environment['HOME'] || userInfo().homedir
  if (isAbsolute(home)) return home
  throw new KiwiError('INVALID_CONFIG', `Cannot use HOME "${home}": it is not an absolute path`, {
    hint: 'Set HOME to the absolute path of your home folder',
  })
}

/** The XDG specification has a relative path ignored. */
function cacheHome({ XDG_CACHE_HOME = '' }: Environment): string | null {
  return isAbsolute(XDG_CACHE_HOME) ? XDG_CACHE_HOME : null
}

function expandHome(path: string, home: string): string {
  return path === '~' || path.startsWith('~/') ? join(home, path.slice(1)) : path
}

function readFile(file: string): Partial<Settings> {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errnoOf(error))) return {}
    throw new KiwiError('INVALID_CONFIG', `Cannot read "${file}": ${messageOf(error)}`, { cause: error })
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new KiwiError('INVALID_CONFIG', `Cannot read "${file}": ${messageOf(error)}`, {
      hint: 'Correct the file: it must be JSON',
      cause: error,
    })
  }
  return check(value, `"${file}"`)
}

function readVariables(environment: Environment): Partial<Settings> {
  const given: Record<string, unknown> = {}
  if (environment['KIWI_STORE']) given['store'] = environment['KIWI_STORE']
  const port = environment['KIWI_PORT']
  if (port) given['port'] = readWholeNumber(port) ?? port
  if (environment['KIWI_LOG_LEVEL']) given['log_level'] = environment['KIWI_LOG_LEVEL']
  if (environment['KIWI_ALLOW_HOSTS']) {
    given['allow_hosts'] = environment['KIWI_ALLOW_HOSTS'].split(',').map((host) => host.trim())
  }
  return check(given, 'the KIWI_* variables')
}

function check(value: unknown, where: string): Partial<Settings> {
  const parsed = Settings.partial().safeParse(value, IN_WORDS)
  if (parsed.success) return dropUndefined(parsed.data)
  const invalid = fieldFaults(parsed.error.issues)
  const [{ name, reason } = { name: '', reason: '' }] = invalid
  throw new KiwiError(
    'INVALID_CONFIG',
    `Cannot use ${where}: ${name === '' ? 'it' : `"${name}"`} ${reason}`,
    {
      hint: 'Correct the setting; docs/reference/config.md lists them all',
      details: { invalid },
    },
  )
}

function dropUndefined(settings: { [K in keyof Settings]?: Settings[K] | undefined }): Partial<Settings> {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined))
}
