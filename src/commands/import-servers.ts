import type { Batch } from '../spaces/import/batch.ts'
import type { Terminal } from './terminal.ts'
import { printable, table } from './terminal.ts'

/** The report of an import of servers: one line for each. */
export function showServers(
  { batch, servers, not_imported }: Batch,
  isDryRun: boolean,
  terminal: Terminal,
): void {
  const rows = servers.map(({ name, state, from, reason, notes }) => [
    '',
    state,
    name,
    reason ?? notes.join('; '),
    from,
  ])
  const left = not_imported.map(({ path, reason }) => ['', 'skipped', '', reason, path])
  terminal.out(rows.length + left.length === 0 ? '  no servers found' : table([...rows, ...left]))
  const kept = [...new Set(servers.flatMap((server) => server.kept))]
  if (kept.length > 0)
    terminal.out(
      `\n${isDryRun ? 'would be kept' : 'kept'} in the vault and granted to its server: ${printable(kept.join(', '))}`,
    )
  const isChanged = servers.some(({ state }) => state === 'imported')
  if (!isChanged) return terminal.note('\nNothing to do')
  if (isDryRun) return terminal.note('\nNothing was written. Leave out --dry-run to import')
  for (const command of new Set(servers.flatMap(({ next }) => next)))
    terminal.note(printable(`Next: ${command}`))
  terminal.note('\nLook at them: kiwi servers')
  terminal.note(`Take it back: kiwi import --undo ${batch}`)
}
