// A chain on real spaces, a real store and folders of its own, for tests.
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Grant } from '../config/config.ts'
import { loadConfig } from '../config/config.ts'
import type { Environment } from '../config/environment.ts'
import { childEnvironment, readEnvironment } from '../config/environment.ts'
import { systemClock } from '../shared/clock.ts'
import { parseItemRef } from '../shared/ids.ts'
import type { JsonObject } from '../shared/json.ts'
import { toNewVersion } from '../spaces/describe.ts'
import type { Item } from '../spaces/item.ts'
import type { Lookup } from '../spaces/lookup.ts'
import { openSpaces } from '../spaces/spaces.ts'
import { openSqliteStore } from '../store/sqlite/open.ts'
import type { Registry, Store } from '../store/store.ts'
import type { Chain } from './chain.ts'
import { openChain } from './chain.ts'
import type { Draft } from './draft.ts'
import type { Performed } from './perform.ts'
import type { Plan } from './plan.ts'
import { BUILTIN } from './sample-item.ts'

export interface TempChain {
  readonly folder: string
  readonly project: string
  readonly cache: string
  readonly chain: Chain
  readonly lookup: Lookup
  /** Whoever puts a grant here is the person. */
  readonly grants: Grant[]
  /** What was asked of the registry, such as `nodes a,b`. */
  readonly queries: string[]
  /** Writes a tool into the project and looks at it. */
  tool(id: string, manifest: JsonObject, files?: Readonly<Record<string, string>>): void
  publish(item: Item): Promise<void>
  /** The path of a file below the project's `.ai`, written. */
  write(path: string, text: string): string
  plan(id: string): Promise<Plan>
  draft(id: string, parameters?: JsonObject): Promise<Draft>
  run(id: string, parameters?: JsonObject, signal?: AbortSignal): Promise<Performed>
  close(): Promise<void>
}

interface TempOptions {
  readonly environment?: Environment
  readonly allowHosts?: readonly string[]
}

export async function openTempChain(options: TempOptions = {}): Promise<TempChain> {
  const folder = mkdtempSync(join(tmpdir(), 'kiwi-chain-'))
  const [project, userSpace, cache] = ['project', 'user', 'cache'].map((name) => join(folder, name))
  if (project === undefined || userSpace === undefined || cache === undefined)
    throw new TypeError('three folders')
  mkdirSync(project)
  const grants: Grant[] = []
  const environment = { ...childEnvironment(readEnvironment()), ...options.environment }
  const config = {
    ...loadConfig({ ...environment, KIWI_USER_SPACE: userSpace }),
    environment,
    cache,
    grants,
    allowHosts: options.allowHosts ?? [],
  }
  const store = await openSqliteStore({ path: join(folder, 'kiwi.db'), clock: systemClock })
  const queries: string[] = []
  const counted: Store = { ...store, registry: countQueries(store.registry, queries) }
  const spaces = await openSpaces({ store: counted, clock: systemClock, userSpace, builtinFolder: BUILTIN })
  const lookup = spaces.at(project)
  const chain = openChain(config, systemClock)
  const plan = async (id: string): Promise<Plan> => chain.resolver.current(parseItemRef(id), lookup)
  const draft = async (id: string, parameters: JsonObject = {}): Promise<Draft> =>
    chain.draft(await plan(id), { callId: 'call-1', parameters, projectPath: project })
  const write = (path: string, text: string): string => {
    const target = join(project, '.ai', path)
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, text)
    return target
  }
  return {
    folder,
    project,
    cache,
    chain,
    lookup,
    grants,
    queries,
    write,
    plan,
    draft,
    tool(id, manifest, files = {}) {
      // JSON is YAML, too.
      write(
        `tools/${id}/tool.yaml`,
        JSON.stringify({ tool_id: id, version: '1.0.0', description: id, ...manifest }),
      )
      for (const [path, text] of Object.entries(files)) write(`tools/${id}/${path}`, text)
      lookup.freshen(true)
    },
    async publish(item) {
      await store.registry.publish(await toNewVersion(item, null))
      lookup.freshen(true)
    },
    run: async (id, parameters, signal) => chain.perform(await draft(id, parameters), signal),
    async close() {
      await chain.close()
      await store.close()
      removeTree(folder)
    },
  }
}

/** Work folders are read-only, and nothing can be taken out of a read-only folder. */
export function removeTree(folder: string): void {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory()) chmodSync(join(entry.parentPath, entry.name), 0o755)
  }
  rmSync(folder, { recursive: true, force: true })
}

function countQueries(registry: Registry, queries: string[]): Registry {
  const count = (query: string, ...of: readonly unknown[]): void =>
    void queries.push([query, ...of].join(' '))
  return {
    ...registry,
    reserved() {
      count('reserved')
      return registry.reserved()
    },
    nodes(ids) {
      count('nodes', ids.join())
      return registry.nodes(ids)
    },
    chain(id) {
      count('chain', id)
      return registry.chain(id)
    },
    version(id, range) {
      count('version', id, range)
      return registry.version(id, range)
    },
    versions(id) {
      count('versions', id)
      return registry.versions(id)
    },
    files(id, version) {
      count('files', id, version)
      return registry.files(id, version)
    },
  }
}
