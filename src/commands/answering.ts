import type { Command } from 'commander'

/** A new command, and what becomes of its exit code. */
interface Program {
  readonly command: (name: string, description: string) => Command
  readonly ends: (run: Promise<number>) => Promise<void>
  readonly wholeNumber: (option: string) => (text: string) => number
}

const ID = 'its id, at least six characters of it, or a session that has exactly one open'
const KEY = ['--key <file>', "answer without a terminal, by the approver's key"] as const

/** The commands by which a person answers a call that waits for them. */
export function addAnswering({ command, ends, wholeNumber }: Program): void {
  command('approvals', 'show the calls that wait for a person')
    .argument('[id]', `show all of one: ${ID}`)
    .option('--full', 'all of its arguments')
    .option('--all', 'those that were answered too')
    .option('--grants', 'what is allowed for a whole session')
    .option('--link', 'a way into the page of kiwi serve where you can answer, too')
    .option('--port <number>', 'of the link: where that kiwi serve listens (7717)', wholeNumber('--port'))
    .option('--notice-secret', 'what the receiver of a notice checks its signature with')
    .action(async (id, options) => ends((await import('./approvals.ts')).approvalsCommand(id, options)))
  command('approve', 'let a call that waits run, once')
    .argument('<id>', ID)
    .option('--run', 'this tool for the rest of the session, without asking again')
    .option('--params <json>', 'with these arguments in place of its own: JSON, @file, or -')
    .option(...KEY)
    .action(async (id, options) => ends((await import('./approve.ts')).approveCommand(id, options)))
  command('deny', 'refuse a call that waits, or take back an approval that was not used')
    .argument('<id>', ID)
    .argument('[reason...]', 'told to whoever asked')
    .option(...KEY)
    .action(async (id, reason, options) =>
      ends((await import('./approve.ts')).denyCommand(id, reason, options)),
    )
}
