import type { Command } from 'commander'

/** What `kiwi audit` can be asked for. */
export function addAudit(command: Command, readNumber: (text: string) => number): Command {
  return command
    .option('--limit <number>', 'how many records are shown (20; of a session or run 1,000)', readNumber)
    .option('--tool <id>', 'only of this item')
    .option('--session <id>', 'only of this session and those that came from it, as a tree')
    .option('--run <id>', 'the same of a run of a directive, with the call that began it')
    .option('--call <id>', 'only of this call')
    .option(
      '--status <status>',
      'allow, deny, ask, success, error, denied, rejected, parked, timeout, cancelled or unknown',
    )
    .option('--principal <name>', 'only of this caller')
    .option('--operation <name>', 'only of this operation, such as execute.run')
    .option('--since <time>', 'from this time on: 2026-11-16T09:30, or how long ago: 30m, 2h, 3d')
    .option('--until <time>', 'before this time')
    .option('--denied', 'only what a rule, a person or a limit has refused')
    .option('--wide', 'the session of each call, too')
    .option('--follow', 'print records as they come, from all processes, until Ctrl-C')
    .option('--verify', 'check that no record was changed, removed or moved, and that the end is there')
    .option('--export <file>', 'write all records that fit to a file, oldest first; - for standard output')
    .option('--format <format>', 'of the export: jsonl, otel, ocsf or cef (jsonl)')
    .option('--with-arguments', 'export what calls were given, too')
    .option('--erase <call>', 'drop what the records of a call hold; the chain stays whole')
    .option('--yes', 'without asking')
}
