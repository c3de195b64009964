import type { JsonObject } from '../shared/json.ts'
import type { ItemType, ToolType } from '../shared/tool-type.ts'
import type { Catalog } from './catalog.ts'
import type { Grants } from './grants.ts'
import type { Runs } from './runs.ts'
import type { Approvals } from './approvals.ts'
import type { Journal } from './journal.ts'
import type { Limits } from './limits.ts'
import type { TaskRows } from './tasks.ts'
import type { UndoLog } from './undo.ts'
import type { Uses } from './uses.ts'
import type { Vectors } from './vectors.ts'

/**
 * Everything Kiwi keeps that is not a plain file: the registry, the search index of all spaces, whom to trust, the journal.
 * Several processes open one store at once; nothing two of them must agree on lives in memory.
 */
export interface Store {
  readonly registry: Registry
  readonly index: SearchIndex
  readonly trust: Trust
  readonly journal: Journal
  readonly runs: Runs
  readonly approvals: Approvals
  readonly limits: Limits
  readonly undo: UndoLog
  readonly grants: Grants
  readonly catalog: Catalog
  readonly tasks: TaskRows
  readonly uses: Uses
  readonly vectors: Vectors
  /** Why nothing can be written here, or null. A store that cannot be written still answers what it can. */
  readonly readOnlyReason: string | null
  /** A number that grows when the registry or what is trusted changed, in this process or another. Cheap enough for every call. */
  generation(): number
  /** Runs something at once, while no other process that shares the store can do the same. */
  exclusively<T>(work: () => T): Promise<T>
  close(): Promise<void>
}

/** What may be read of a store by those who stand outside the gate: nothing leads past it from here. */
export interface StoreView {
  readonly versions: Registry['versions']
  readonly search: SearchIndex['search']
  readonly find: SearchIndex['find']
  readonly show: SearchIndex['show']
  readonly nearest: Meaning['nearest']
  readonly count: SearchIndex['count']
  readonly records: Journal['read']
  readonly verify: Journal['verify']
  readonly trustedProjects: Trust['projects']
  readonly grants: Grants['read']
  readonly standing: UndoLog['standing']
  readonly listed: Catalog['tools']
  readonly uses: Uses['read']
  readonly readOnlyReason: string | null
}

export function viewOf({
  registry,
  index,
  trust,
  journal,
  grants,
  undo,
  catalog,
  uses,
  readOnlyReason,
}: Store): StoreView {
  return {
    versions: (toolId) => registry.versions(toolId),
    search: (query) => index.search(query),
    find: (query) => index.find(query),
    show: (found, asked) => index.show(found, asked),
    nearest: (asked) => index.nearest(asked),
    count: (roots) => index.count(roots),
    records: (filter) => journal.read(filter),
    verify: () => journal.verify(),
    trustedProjects: () => trust.projects(),
    grants: (tool) => grants.read(tool),
    standing: (limit) => undo.standing(limit),
    listed: (key) => catalog.tools(key),
    uses: () => uses.read(),
    readOnlyReason,
  }
}

/** A file an item carries beside its manifest. */
export interface ItemFile {
  /** Relative, with `/`, never leaving the item. */
  readonly path: string
  readonly content: Uint8Array
  readonly isExecutable: boolean
}

/** One version of an item as it is handed to the registry. */
export interface NewVersion {
  readonly tool_id: string
  readonly tool_type: ToolType
  readonly executor_id: string | null
  readonly version: string
  readonly name: string
  readonly description: string
  readonly category: string | null
  readonly tags: readonly string[]
  readonly manifest: JsonObject
  /** The text the manifest was read from, to be written back byte for byte. */
  readonly manifest_yaml: string | null
  readonly content_hash: string
  readonly changelog: string | null
  readonly files: readonly ItemFile[]
  /** Path of the file that is started, when there is one. */
  readonly entrypoint: string | null
  /** What search reads besides name and description. */
  readonly search_text: SearchText
}

export interface SearchText {
  /** Names and descriptions of the parameters. */
  readonly parameters: string
  /** Text of a directive or a piece of knowledge. */
  readonly body: string
}

/** A version as it stands in the registry; its files are read apart. */
export interface StoredVersion {
  readonly tool_id: string
  readonly tool_type: ToolType
  readonly executor_id: string | null
  readonly version: string
  readonly manifest: JsonObject
  readonly manifest_yaml: string | null
  readonly content_hash: string
  /** Paths of its files, so that a chain can be compiled without reading them. */
  readonly file_paths: readonly string[]
  /** Of the latest version, which may have it from a folder; an older one has what its manifest says. */
  readonly category: string | null
  readonly is_builtin: boolean
  readonly is_official: boolean
  readonly created_at: string
}

export interface VersionSummary {
  readonly version: string
  readonly content_hash: string
  readonly changelog: string | null
  readonly is_latest: boolean
  readonly created_at: string
}

/** One link of an executor chain, leaf first. */
export interface ChainLink {
  readonly depth: number
  readonly tool_id: string
  readonly tool_type: ToolType
  readonly executor_id: string | null
}

export interface Registry {
  /**
   * Adds a version that can never change again. The latest version moves only forward.
   * VERSION_EXISTS when this version stands, or stood before it was removed, with other content; equal content is
   * left as it is.
   * BUILTIN_PROTECTED when the id belongs to a shipped tool. CONFLICT when the id stands for another type of tool.
   * INVALID_MANIFEST when version, executor or paths break the rules of the tables.
   */
  publish(version: NewVersion): Promise<StoredVersion>
  /** Removes an item with its versions and files; their hashes stay known. NOT_FOUND, BUILTIN_PROTECTED. */
  remove(toolId: string): Promise<void>
  /**
   * Makes the shipped items equal to `items`. `digest` names their content: the same digest again writes nothing.
   * Primitives and runtimes become builtin rows, the others official ones.
   */
  seed(items: readonly NewVersion[], digest: string): Promise<{ readonly written: number }>
  /** The digest of the last seed, or null. */
  seeded(): Promise<string | null>
  /** Ids no other space may take. */
  reserved(): Promise<ReadonlySet<string>>
  /** The latest versions of these ids and of every executor they lead to: one query for any number of ids. */
  nodes(toolIds: readonly string[]): Promise<ReadonlyMap<string, StoredVersion>>
  /** The executor chain of an item. Ends early where a link is missing or the chain comes back to itself. */
  chain(toolId: string): Promise<readonly ChainLink[]>
  /** The highest version that satisfies a semver range; null = latest. */
  version(toolId: string, range: string | null): Promise<StoredVersion | null>
  /** Highest first. */
  versions(toolId: string): Promise<readonly VersionSummary[]>
  /** The content hash of this very version, of a removed one too; null when there never was one. */
  publishedHash(toolId: string, version: string): Promise<string | null>
  files(toolId: string, version: string): Promise<readonly ItemFile[]>
}

/** Where an item lives. Looked up in this order; the registry is the store itself, `mcp` what upstreams list. */
export const SPACES = ['project', 'user', 'builtin', 'registry', 'mcp'] as const
export type SpaceName = (typeof SPACES)[number]

/** What search knows of one item in a file space. Registry items are indexed when they are published. */
export interface IndexEntry {
  readonly path: string
  /** Changes when the file does: modification time, size and inode. */
  readonly stamp: string
  readonly item_id: string
  readonly tool_type: ToolType
  readonly name: string
  readonly description: string
  readonly category: string | null
  readonly tags: readonly string[]
  readonly version: string
  readonly updated_at: string
  readonly search_text: SearchText
  /** The server it is or belongs to, as people say it. */
  readonly server: string | null
}

/** A file space and the absolute folder it reads, or an upstream and the key of what it lists. */
export interface IndexedSpace {
  readonly space: 'project' | 'user' | 'mcp'
  readonly root: string
}

export interface AskedWords {
  /** Words to find; none lists everything that fits the filters. */
  readonly words: readonly string[]
  /** Those of them that are spelt right, and so are not taken for another word that is nearly alike. */
  readonly spelt?: ReadonlySet<string>
  /** Only what has every one of them, where otherwise any is enough. */
  readonly everyWord?: boolean
}

export interface SearchQuery extends AskedWords {
  /** Only these rows, as far as they fit the filters. */
  readonly rows?: readonly number[]
  /** Only what is called so, by its id, its id on its server, or its name: in lower case, without what joins words. */
  readonly called?: string
  readonly spaces: readonly SpaceName[]
  /** Roots of the file spaces and upstreams that may be searched. */
  readonly roots: readonly IndexedSpace[]
  readonly itemTypes: readonly ItemType[]
  readonly toolTypes: readonly ToolType[]
  /** A category also covers what is below it: `a` finds `a/b`. */
  readonly category: string | null
  readonly tags: readonly string[]
  /** One server and its tools; null = all. */
  readonly server: string | null
  readonly sortBy: 'score' | 'name' | 'updated' | 'downloads'
  readonly limit: number
}

/** A row of the index and how well it fits. */
export interface FoundRow {
  readonly row: number
  /** Higher is better; 0 when there were no words. */
  readonly score: number
}

export interface SearchHit {
  /** Its row in the index. */
  readonly row: number
  readonly item_id: string
  readonly name: string
  readonly tool_type: ToolType
  readonly description: string
  readonly space: SpaceName
  readonly path: string | null
  readonly version: string
  readonly updated_at: string
  /** Higher is better; 0 when there were no words. */
  readonly score: number
  /** The fields that matched: name, description, category, tags, parameters, body. */
  readonly why: readonly string[]
}

/** Finds what is about the same, whatever words it says it in. */
export interface Meaning {
  /** At most so many rows, nearest first, over all spaces; the score says by how many deviations above the average. */
  nearest(asked: {
    readonly vector: Int8Array
    /** Works out the vector of a row that is new. */
    readonly vectorOf: (text: string) => Int8Array
    readonly most: number
  }): Promise<readonly NearRow[]>
}

export interface NearRow extends FoundRow {
  /** The cosine between the two: 1 = about the very same. */
  readonly nearness: number
}

export interface SearchIndex extends Meaning {
  /** What is indexed of this space: path to stamp. */
  known(space: IndexedSpace): Promise<ReadonlyMap<string, string>>
  /** Puts entries in place of those with the same path, and drops paths, in one transaction. */
  update(space: IndexedSpace, put: readonly IndexEntry[], drop: readonly string[]): Promise<void>
  /** The stamp that the entries of a space have in common; null when there are none. */
  stampOf(space: IndexedSpace): Promise<string | null>
  /** Puts entries in place of all that are there, in one transaction. */
  replace(space: IndexedSpace, entries: readonly IndexEntry[]): Promise<void>
  /**
   * Ranked hits and how many there are in all. An item that a nearer space also has (in the order of SPACES) is
   * left out, unless only its own space is searched.
   */
  search(query: SearchQuery): Promise<{ readonly hits: readonly SearchHit[]; readonly total: number }>
  /** The same, rows alone. */
  find(query: SearchQuery): Promise<{ readonly found: readonly FoundRow[]; readonly total: number }>
  /** What stands in these rows, in their order, and which fields of each hold any of the words. */
  show(found: readonly FoundRow[], asked: AskedWords): Promise<readonly SearchHit[]>
  /** How many items there are of each type. */
  count(roots: readonly IndexedSpace[]): Promise<Readonly<Partial<Record<ToolType, number>>>>
}

/** A project whose items a person lets run. */
interface TrustedProject {
  /** The folder with every link followed. */
  readonly path: string
  readonly trusted_at: string
  readonly trusted_by: string
}

/** The signature of an item whose form has no room for a line. */
interface StoredSignature {
  /** The path of its file; a version of the registry has a name of its own. */
  readonly place: string
  /** What was signed: another content there is another item. */
  readonly content_hash: string
  readonly time: string
  readonly signature: string
  readonly fingerprint: string
}

/** A server of a project as a person trusted it. */
interface Launch {
  /** The folder with every link followed. */
  readonly project: string
  /** The id of the server item. */
  readonly server: string
  /** Hash of all that is configured of it. */
  readonly identity: string
  /** A hash of each key of that, so that it can be said what is different later: values stay out of the store. */
  readonly parts: JsonObject
  readonly kept_at: string
  /** Who trusted it. */
  readonly kept_by: string
}

/** Every write of it grows the generation, so that other processes see it. */
export interface Trust {
  projects(): Promise<readonly TrustedProject[]>
  /** The same again changes nothing. */
  trustProject(project: TrustedProject): Promise<void>
  /** With all that is kept of its servers. One that is not there changes nothing. */
  revokeProject(path: string): Promise<void>
  /** This server as it was trusted; null for one that never was. */
  launch(project: string, server: string): Promise<Pick<Launch, 'identity' | 'parts'> | null>
  /** A person's word, in place of what is kept. */
  trustLaunch(launch: Launch): Promise<void>
  signature(place: string): Promise<StoredSignature | null>
  /** In place of the one that stood there. */
  sign(signature: StoredSignature): Promise<void>
}
