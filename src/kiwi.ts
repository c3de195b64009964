import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Config } from './config/config.ts'
import type { Kernel } from './kernel/kernel.ts'
import { openKernel } from './kernel/kernel.ts'
import { NO_LEARNING, openLearning } from './search/learning.ts'
import type { Meta } from './meta/meta.ts'
import { openMeta } from './meta/meta.ts'
import { openReader } from './search/reading/reader.ts'
import type { VectorSearch } from './search/vector-search.ts'
import { openVectorSearch } from './search/vector-search.ts'
import { openWordTable } from './search/word-table.ts'
import type { Clock } from './shared/clock.ts'
import { systemClock } from './shared/clock.ts'
import { createIds } from './shared/ids.ts'
import type { KnownSecrets } from './shared/known-secrets.ts'
import { openKnownSecrets } from './shared/known-secrets.ts'
import type { Log } from './shared/log.ts'
import { createLog } from './shared/log.ts'
import { textOf } from './shared/template.ts'
import { openPackageTable } from './spaces/imports.ts'
import type { Item } from './spaces/item.ts'
import type { Spaces } from './spaces/spaces.ts'
import { openSpaces } from './spaces/spaces.ts'
import { openSqliteStore } from './store/sqlite/open.ts'
import type { StoreView } from './store/store.ts'
import { viewOf } from './store/store.ts'
import type { TaskRows } from './store/tasks.ts'

/** Everything wired together: the four tools, and what the command line reads beside them. */
export interface Kiwi extends Meta {
  readonly config: Config
  readonly store: StoreView
  readonly spaces: Spaces
  /** The links an item would run through, and how far they are trusted. */
  readonly chainOf: Kernel['chainOf']
  /** What is decided for calls in a project. */
  readonly policyOf: Kernel['policyOf']
  readonly sandbox: Kernel['sandbox']
  readonly openRun: Kernel['openRun']
  readonly closeRun: Kernel['closeRun']
  /** What waits for a person. */
  readonly questions: Kernel['questions']
  /** The files of the page where a person answers. */
  readonly consoleFolder: string
  /** Whether the journal is what was written. */
  readonly verifyJournal: Kernel['verifyJournal']
  /** Work that outlives its request. */
  readonly tasks: TaskRows
  /** The names in the vault. */
  readonly secrets: Kernel['secrets']
  /** What ranks by vectors; null where the person wants none. */
  readonly vectors: VectorSearch | null
  close(): Promise<void>
}

interface KiwiMeans {
  readonly clock?: Clock
  readonly log?: Log
}

/** Shipped beside the bundle, and beside the sources. */
const BUILTIN = fileURLToPath(new URL('../builtin', import.meta.url))
/** What reads texts where the person has named no embedder. */
const READER = {
  file: join(BUILTIN, 'search/reader-3.bin'),
  script: fileURLToPath(new URL('../dist/reader-thread.js', import.meta.url)),
}
/** Made with the bundle: what is shipped is in it. */
const NEW_STORE = fileURLToPath(new URL('../dist/new-store.db', import.meta.url))

export async function openKiwi(config: Config, means: KiwiMeans = {}): Promise<Kiwi> {
  const known = openKnownSecrets()
  const { clock = systemClock, log = standardErrorLog(config, clock, known) } = means
  // Of older days, when there were two ways to run a tool.
  if (config.environment['KIWI_USE_PRIMITIVES'] !== undefined)
    log.warn('setting.without_effect', { name: 'KIWI_USE_PRIMITIVES' })
  const store = await openSqliteStore({
    path: config.store,
    start: NEW_STORE,
    clock,
    log,
    journalSync: config.audit.sync,
  })
  const view = viewOf(store)
  try {
    const { userSpace } = config
    const watchLog = config.watch ? log : undefined
    const kernel = openKernel({
      config,
      store,
      clock,
      log,
      packageTable: openPackageTable(BUILTIN),
      builtinFolder: BUILTIN,
      known,
    })
    const wordTable = openWordTable(join(BUILTIN, 'search/words.bin'))
    const isVouched = (server: Item): Promise<boolean> => kernel.isVouched(server)
    const at = { userSpace, builtinFolder: BUILTIN }
    const spaces = await openSpaces({ ...at, store, clock, log, watchLog, isVouched, known })
    await kernel.preload(spaces.at(null))
    await kernel.settle()
    const { embedder: named, waitMs, learn } = config.search
    const reader = named === null ? openReader(READER) : null
    const embedder = reader ?? kernel.embedder(spaces.at(null))
    const isOwn = reader !== null
    const vectors =
      embedder === null
        ? null
        : openVectorSearch({ embedder, isOwn, store: store.vectors, clock, log, waitMs })
    const learning = learn
      ? openLearning({ uses: store.uses, limits: store.limits, clock, log })
      : NO_LEARNING
    const ids = createIds(() => clock.now())
    return {
      ...openMeta({ kernel, spaces, store: view, learning, vectors, wordTable, clock, ids }),
      vectors,
      config,
      store: view,
      spaces,
      chainOf: (item, lookup) => kernel.chainOf(item, lookup),
      policyOf: (projectPath) => kernel.policyOf(projectPath),
      sandbox: () => kernel.sandbox(),
      openRun: (order) => kernel.openRun(order),
      closeRun: (runId) => kernel.closeRun(runId),
      questions: kernel.questions,
      consoleFolder: join(BUILTIN, 'console'),
      verifyJournal: () => kernel.verifyJournal(),
      tasks: store.tasks,
      secrets: () => kernel.secrets(),
      async close() {
        await vectors?.close()
        await reader?.close()
        spaces.close()
        await learning.close()
        await kernel.close()
        await store.close()
      },
    }
  } catch (error) {
    await store.close()
    throw error
  }
}

function standardErrorLog(config: Config, clock: Clock, { redact }: KnownSecrets): Log {
  const write = (line: string): boolean => process.stderr.write(textOf(redact(line)))
  return createLog({ level: config.logLevel, clock, write })
}
