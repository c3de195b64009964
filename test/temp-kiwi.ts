import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Config } from '../src/config/config.ts'
import { loadConfig } from '../src/config/config.ts'
import type { Kiwi } from '../src/kiwi.ts'
import { openKiwi } from '../src/kiwi.ts'
import { systemClock } from '../src/shared/clock.ts'
import type { Reply } from '../src/shared/reply.ts'
import { textOf } from '../src/shared/template.ts'
import { openSqliteStore } from '../src/store/sqlite/open.ts'
import { field, listField, textField } from './fixtures/field.ts'

/** A real Kiwi on real folders of its own, gone when it is closed. */
export interface TempKiwi {
  readonly kiwi: Kiwi
  readonly config: Config
  readonly folder: string
  readonly project: string
  call(tool: string, args: unknown, signal?: AbortSignal): Promise<Reply>
  search(query: string, more?: object): Promise<Reply>
  load(itemId: string, more?: object): Promise<Reply>
  run(itemId: string, parameters?: unknown): Promise<Reply>
  create(itemId: string, manifest: unknown, files?: Record<string, string>, location?: string): Promise<Reply>
  /** Writes a file below the project's `.ai` folder. */
  write(path: string, content: string): string
  close(): Promise<void>
}

/** A manifest that lacks nothing but its file. */
export const BASH = { tool_type: 'script', executor: 'bash_runtime', description: 'a tool of the tests' }

/** Shell files as their runtime asks for them, so that a test may write one line. */
function withShebangs(files: Record<string, string>): Record<string, string> {
  const entries = Object.entries(files).map(([path, text]) => [
    path,
    path.endsWith('.sh') && !text.startsWith('#!') ? `#!/usr/bin/env bash\n${text}` : text,
  ])
  return Object.fromEntries(entries)
}

/** One result of a search, as far as tests look into it. */
interface Result {
  readonly id: string
  readonly item_type: string
  readonly source: string
  readonly call: unknown
}

export function resultsOf({ data }: Reply): readonly Result[] {
  return listField(data, 'results').map((result) => ({
    ...(typeof result === 'object' ? result : {}),
    id: textField(result, 'id'),
    // What goes without saying is left out where there are many.
    item_type: textOf(field(result, 'item_type') ?? 'tool'),
    source: textOf(field(result, 'source')),
    call: field(result, 'call'),
  }))
}

interface TempOptions {
  readonly environment?: Readonly<Record<string, string>>
  readonly settings?: Readonly<Record<string, unknown>>
  /** Another Kiwi whose folders are shared, as two processes would. */
  readonly beside?: TempKiwi
  /** The name of its project; beside another one, it may have one of its own. */
  readonly project?: string
  readonly kind?: 'agent' | 'person'
  /** In place of the file of the machine, which a test must not write. */
  readonly machineHarness?: string
  /** Whether a person has trusted the project; so they have, unless a test says otherwise. */
  readonly isTrusted?: boolean
}

export async function openTempKiwi(options: TempOptions = {}): Promise<TempKiwi> {
  const folder = options.beside?.folder ?? mkdtempSync(join(tmpdir(), 'kiwi-test-'))
  const project = join(folder, options.project ?? 'project')
  const user = join(folder, 'user')
  mkdirSync(project, { recursive: true })
  mkdirSync(user, { recursive: true })
  if (options.settings !== undefined) writeFileSync(join(user, 'kiwi.json'), JSON.stringify(options.settings))
  const loaded = loadConfig({
    PATH: process.env['PATH'] ?? '',
    HOME: folder,
    KIWI_USER_SPACE: user,
    KIWI_LOG_LEVEL: 'silent',
    ...options.environment,
  })
  // On a busy machine too a search is to know what the reader makes of the few items of a test.
  const waitMs = options.beside?.config.search.waitMs ?? 3000
  const search = options.settings?.['search'] === undefined ? { ...loaded.search, waitMs } : loaded.search
  const config = { ...loaded, search, machineHarness: options.machineHarness ?? join(folder, 'machine.yaml') }
  if (options.isTrusted !== false && options.beside === undefined) await trust(config, project)
  const kiwi = await openKiwi(config)
  const client = {
    principal: 'tester',
    session: 'session-1',
    kind: options.kind ?? 'agent',
    defaultProject: () => Promise.resolve(project),
  } as const
  const call: TempKiwi['call'] = (tool, args, signal) => kiwi.call(tool, args, client, signal)
  return {
    kiwi,
    config,
    folder,
    project,
    call,
    search: (query, more = {}) => call('search', { query, ...more }),
    load: (itemId, more = {}) => call('load', { item_type: 'tool', item_id: itemId, ...more }),
    run: (itemId, parameters = {}) =>
      call('execute', { item_type: 'tool', action: 'run', item_id: itemId, parameters }),
    create: (itemId, manifest, files = {}, location = 'project') =>
      call('execute', {
        item_type: 'tool',
        action: 'create',
        item_id: itemId,
        parameters: { manifest, files: withShebangs(files), location },
      }),
    write(path, content) {
      const target = join(project, '.ai', path)
      mkdirSync(dirname(target), { recursive: true })
      writeFileSync(target, content)
      return target
    },
    async close() {
      await kiwi.close()
      if (options.beside === undefined) rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** As every new store begins. */
const NEW_STORE = join(import.meta.dirname, '../dist/new-store.db')

/** As a person did before the test began: the journal of the test starts empty. */
async function trust(config: Config, project: string): Promise<void> {
  const store = await openSqliteStore({ path: config.store, start: NEW_STORE, clock: systemClock })
  if (store.readOnlyReason === null) {
    const path = realpathSync(project)
    await store.trust.trustProject({ path, trusted_at: new Date().toISOString(), trusted_by: 'a test' })
  }
  await store.close()
}
