import { z } from 'zod'
import { KiwiError } from '../shared/errors.ts'
import type { Reply } from '../shared/reply.ts'
import type { Batch } from '../spaces/import/batch.ts'
import { BatchShape, STATES, readBatches } from '../spaces/import/batch.ts'
import { statOf } from '../spaces/disk.ts'
import { isClientConfig } from '../spaces/import/client-config.ts'
import { isClientName } from '../spaces/import/clients.ts'
import { canAsk, isAgreed } from './ask.ts'
import { showNothing, showServers } from './import-servers.ts'
import type { Terminal } from './terminal.ts'
import { openTerminal, printReply, printable, table } from './terminal.ts'
import type { CommonOptions, Session } from './with-kiwi.ts'
import { withKiwi } from './with-kiwi.ts'

interface ImportOptions extends CommonOptions {
  readonly to: string
  readonly dryRun?: boolean
  readonly undo?: string
  readonly list?: boolean
  readonly yes?: boolean
}

/** `kiwi import <path>`, `kiwi import <client>`, `kiwi import mcp [file or client…]`, `kiwi import --undo <batch>`, `kiwi import --list` */
export function importCommand(
  path: string | undefined,
  files: readonly string[],
  options: ImportOptions,
): Promise<number> {
  return withKiwi(options, async (session) => {
    if (options.list === true) return listImports(session, options)
    if (options.undo !== undefined) return undoImport(session, options.undo, options)
    const configs = configsIn(path, files)
    const reply = await session.act({
      wish: () =>
        configs === null
          ? { kind: 'import', path: readPath(path), to: readTo(options.to) }
          : { kind: 'import_servers', ...clientsAmong(configs), to: readTo(options.to) },
      operation: 'import',
      subject: configs === null ? readPath(path) : configs.join(' ') || 'mcp',
      isDryRun: options.dryRun === true,
    })
    return printReply(reply, options.json === true, (data, terminal) =>
      showImport(WithPlaces.parse(data), reply.status === 'dry_run', terminal),
    )
  })
}

/** The configs of other clients that are meant; null for anything else. */
function configsIn(path: string | undefined, files: readonly string[]): readonly string[] | null {
  if (path === 'mcp') return files
  if (files.length > 0)
    throw new KiwiError('INVALID_PARAMETERS', `Cannot import "${path}": one path at a time`)
  return path !== undefined && (isClientConfig(path) || isClient(path)) ? [path] : null
}

/** A file of that name is meant as a file. */
function isClient(word: string): boolean {
  return isClientName(word) && statOf(word) === null
}

function clientsAmong(configs: readonly string[]): { readonly files: string[]; readonly clients: string[] } {
  return {
    files: configs.filter((word) => !isClient(word)),
    clients: configs.filter(isClient),
  }
}

function readPath(path: string | undefined): string {
  if (path !== undefined) return path
  throw new KiwiError('INVALID_PARAMETERS', 'Cannot import: no path is given', {
    hint: 'Name a folder or file, for example kiwi import ~/.script-kiwi --dry-run',
    details: { missing: ['path'], invalid: [] },
  })
}

function readTo(to: string): 'project' | 'user' {
  if (to === 'project' || to === 'user') return to
  throw new KiwiError('INVALID_PARAMETERS', `Cannot import to "${to}": it is neither user nor project`, {
    hint: 'Give --to user or --to project',
    details: { missing: [], invalid: [{ name: 'to', reason: 'not user or project' }] },
  })
}

/** Lines of each state that are printed; `--json` has them all. */
const MOST_LINES = 20

/** Where nothing was found, what was looked at. */
const WithPlaces = BatchShape.extend({ looked_at: z.array(z.string()).optional() })

function showImport(batch: z.infer<typeof WithPlaces>, isDryRun: boolean, terminal: Terminal): void {
  const { totals, items, history } = batch
  if (batch.looked_at !== undefined) return showNothing(batch, batch.looked_at, terminal)
  const would = isDryRun ? 'Would import' : 'Imported'
  terminal.out(`${would} from ${printable(batch.source)} to ${printable(batch.root)}`)
  if (batch.layout === 'mcp') return showServers(batch, isDryRun, terminal)
  const counts = STATES.filter((state) => totals[state] > 0).map((state) => [
    '',
    state,
    String(totals[state]),
  ])
  terminal.out(counts.length === 0 ? '  nothing' : table(counts))
  showLines([...rowsOf(batch), ...remarksOf(batch)], terminal)
  const counted = Object.entries(history).map(([name, files]) => `${name} (${files})`)
  if (counted.length > 0) terminal.out(`\nhistory, left where it is: ${printable(counted.join(', '))}`)
  const secrets = [...batch.proposed_secrets, ...items.flatMap(({ proposed }) => proposed.secrets)]
  if (secrets.length > 0)
    terminal.out(`\nvariables they ask for: ${printable([...new Set(secrets)].toSorted().join(', '))}`)
  const unverified = items.filter(({ signature }) => signature === 'unverified').length
  if (unverified > 0)
    terminal.out(`\nsigned and changed since: ${unverified}; look at them, then sign them with kiwi sign`)
  showNext(batch, isDryRun, terminal)
}

/** What is not simply there now. */
function rowsOf({ source, items, not_imported }: Batch): readonly Row[] {
  const within = (path: string): string =>
    path.startsWith(`${source}/`) ? path.slice(source.length + 1) : path
  return [
    ...items
      .filter(({ state }) => state !== 'imported' && state !== 'unchanged')
      .map(({ state, to, from, reason, warnings }): Row => {
        return ['', state, state === 'skipped' ? within(from) : to, reason ?? warnings[0] ?? '']
      }),
    ...not_imported.map(({ path, reason }): Row => ['', 'skipped', within(path), reason]),
  ]
}

/** What is there now and has something to be said about it. */
function remarksOf({ items }: Batch): readonly Row[] {
  return items
    .filter(({ state }) => state === 'imported' || state === 'updated')
    .flatMap(({ id, to, warnings, proposed }) =>
      [...warnings, ...wishOf(id, proposed.grants)].map((said): Row => ['', 'note', to, said]),
    )
}

/** What a skill asks for is a person's to grant. */
function wishOf(id: string, grants: readonly string[]): readonly string[] {
  if (grants.length === 0) return []
  return [`asks for ${grants.join(', ')}, which is not granted: kiwi check ${id} shows the lines that do`]
}

type Row = readonly [indent: string, state: string, path: string, reason: string]

function showLines(rows: readonly Row[], terminal: Terminal): void {
  if (rows.length > 0) terminal.out(`\n${table(rows.slice(0, MOST_LINES))}`)
  if (rows.length > MOST_LINES) terminal.out(`  and ${rows.length - MOST_LINES} more: --json shows all`)
}

function showNext({ batch, totals, items }: Batch, isDryRun: boolean, terminal: Terminal): void {
  const isChanged = totals.imported + totals.updated + totals.conflict + totals.needs_repair > 0
  if (!isChanged) return terminal.note('\nNothing to do: everything is there already')
  if (isDryRun) return terminal.note('\nNothing was written. Leave out --dry-run to import')
  const first = items.find(({ type, state }) => type === 'tool' && state === 'imported')
  if (first !== undefined) terminal.note(`\nLook at one: kiwi load ${printable(first.id)}`)
  terminal.note(`Take it back: kiwi import --undo ${batch}`)
}

function listImports({ kiwi }: Session, { json }: ImportOptions): number {
  const terminal = openTerminal()
  const batches = readBatches(kiwi.config.userSpace).toReversed()
  const rows = batches.map(({ batch, time, to, totals, source, undone_at }) => ({
    batch,
    time,
    to,
    totals,
    source,
    undone_at,
  }))
  if (json === true) terminal.out(JSON.stringify(rows, null, 2))
  else if (rows.length === 0) terminal.note('Nothing was imported yet.')
  else
    terminal.out(
      table([
        ['batch', 'time', 'to', 'written', 'undone', 'source'],
        ...rows.map(({ batch, time, to, totals, source, undone_at }) => [
          batch,
          time.replace('T', ' ').slice(0, 19),
          to,
          String(totals.imported + totals.updated + totals.conflict + totals.needs_repair),
          undone_at === null ? '' : 'yes',
          source,
        ]),
      ]),
    )
  return 0
}

const Undone = z.object({
  batch: z.string(),
  root: z.string(),
  totals: z.record(z.string(), z.number()),
  items: z.array(z.object({ path: z.string(), state: z.string(), reason: z.string().nullable() })),
})

async function undoImport(session: Session, batch: string, options: ImportOptions): Promise<number> {
  const undo = (isDryRun: boolean): Promise<Reply> =>
    session.act({
      wish: () => ({ kind: 'undo_import', batch }),
      operation: 'import.undo',
      subject: batch,
      isDryRun,
    })
  if (options.yes !== true && options.dryRun !== true) {
    const preview = await undo(true)
    if (preview.error !== null) return printReply(preview, options.json === true, () => undefined)
    const { totals, root } = Undone.parse(preview.data)
    const question = `Remove ${totals['removed'] ?? 0} and restore ${totals['restored'] ?? 0} items in ${printable(root)}?`
    if (!canAsk()) {
      throw new KiwiError('CONFIRM_REQUIRED', `Cannot undo "${batch}": there is no terminal to ask at`, {
        hint: 'Look at it with --dry-run, then give --yes',
      })
    }
    if (!(await isAgreed(question))) return 0
  }
  const reply = await undo(options.dryRun === true)
  return printReply(reply, options.json === true, (data, terminal) => {
    const { totals, items } = Undone.parse(data)
    const counts = Object.entries(totals).filter(([, count]) => count > 0)
    terminal.out(
      counts.length === 0 ? '  nothing' : table(counts.map(([state, count]) => ['', state, String(count)])),
    )
    showLines(
      items.flatMap(({ state, path, reason }): Row[] => (reason === null ? [] : [['', state, path, reason]])),
      terminal,
    )
  })
}
