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
  const left = leftOf(not_imported)
  terminal.out(table([...rows, ...left]))
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

/** The same where no config names a server. */
export function showNothing(
  { not_imported }: Pick<Batch, 'not_imported'>,
  lookedAt: readonly string[],
  terminal: Terminal,
): void {
  terminal.out('No servers were found, so nothing was imported')
  if (not_imported.length > 0) terminal.out(table(leftOf(not_imported)))
  terminal.note(`\nLooked at:\n${lookedAt.map((path) => `  ${printable(path)}`).join('\n')}`)
  terminal.note('\nName another file: kiwi import mcp FILE; or add a server: kiwi add NAME -- COMMAND')
}

function leftOf(notImported: Batch['not_imported']): readonly (readonly string[])[] {
  return notImported.map(({ path, reason }) => ['', 'skipped', '', reason, path])
}
