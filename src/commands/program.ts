import { Command, CommanderError } from 'commander'
import { readWholeNumber } from '../config/whole-number.ts'
import { errorReply } from '../meta/reply.ts'
import { KiwiError } from '../shared/errors.ts'
import { VERSION } from '../shared/version.ts'
import { addAnswering } from './answering.ts'
import { addAudit } from './audit-options.ts'
import type { Program } from './authoring.ts'
import { addAuthoring } from './authoring.ts'
import { addSecrets } from './secrets.ts'
import { addServers } from './server-commands.ts'
import { printReply } from './terminal.ts'

/** Reads the command line and runs one command. Returns the exit code: see the table of errors. */
export async function runProgram(argv: readonly string[]): Promise<number> {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') process.exit(endOfOutput(error))
    // Nobody reads on: what was done is recorded, and what is under way has a moment to end.
    setTimeout(() => process.exit(0), CLOSING_MS).unref()
  })
  let code = 0
  const ends = (run: Promise<number>): Promise<void> => run.then((result) => void (code = result))
  try {
    await createProgram(ends, argv.includes('--') ? argv.length - argv.indexOf('--') - 1 : null)
      .exitOverride()
      .parseAsync([...argv])
    return code
  } catch (error) {
    if (!(error instanceof CommanderError)) return fail(error, isJson(argv))
    if (error.exitCode === 0) return 0
    const reason = error.message.replace(/^error: /, '')
    const failure = new KiwiError('UNKNOWN_ARGUMENT', `Cannot read the command line: ${reason}`, {
      hint: 'kiwi --help lists the commands, kiwi <command> --help its options',
    })
    return fail(failure, isJson(argv))
  }
}

function fail(error: unknown, asJson: boolean): number {
  const reply = errorReply(error, { call_id: 'unrecorded', duration_ms: 0 })
  return printReply(reply, asJson, () => undefined)
}

/** Read off by hand: what failed may be the reading of the command line itself. */
function isJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--')
  return argv.slice(0, end < 0 ? argv.length : end).includes('--json')
}

/** Whoever read our output may have seen enough (`kiwi search | head`); how long a command then goes on. */
const CLOSING_MS = 3000

/** Of anything else some of the output is lost. */
function endOfOutput(error: NodeJS.ErrnoException): number {
  const code = error.code === 'ENOSPC' ? 'STORE_FULL' : 'INTERNAL'
  const hint = 'Send the output to where it can be written, and run the command again'
  return fail(new KiwiError(code, `Cannot write the output: ${error.message}`, { hint, cause: error }), false)
}

/** Reads the value of an option that is a number. */
function wholeNumber(option: string): (text: string) => number {
  return (text) => {
    const number = readWholeNumber(text)
    if (number !== null) return number
    throw new KiwiError('INVALID_PARAMETERS', `Cannot read ${option} "${text}": it is not a whole number`, {
      hint: `Give ${option} a number in digits`,
    })
  }
}

/** Each command is imported when it is called. */
function createProgram(ends: (run: Promise<number>) => Promise<void>, behindDashes: number | null): Command {
  const program = new Command('kiwi')
    .description(
      'One MCP server that is a kernel for AI agents.\nWithout a command it speaks MCP on standard input and output.',
    )
    .version(VERSION)
    // --version behind a command is none of this program's: it would be answered, and nothing done.
    .enablePositionalOptions()
    // Its errors are thrown as well, and printed like all others.
    .configureOutput({ outputError: () => undefined })
  const command = (name: string, description: string): Command =>
    program.command(name).description(description).option('--json', 'print the reply as JSON').exitOverride()
  const inProject = (name: string, description: string): Command =>
    command(name, description).option(
      '--project <folder>',
      'work in this project instead of the nearest folder upwards that has .ai',
    )

  command('serve', 'listen for clients over HTTP on this machine')
    .option('--port <number>', 'port to listen on (7717)', wholeNumber('--port'))
    .option('--no-auth', 'let every program on this machine call it')
    .option('--passthrough <server>', 'show this one server whole in place of the four tools')
    .action(async (options) => ends((await import('./serve.ts')).serveCommand(options)))
  command('stdio', 'speak MCP on standard input and output, as kiwi without a command does')
    .option('--passthrough <server>', 'show this one server whole in place of the four tools')
    .action(async (options) => ends((await import('./stdio.ts')).stdio(options).then(() => 0)))
  addSearching({ inProject, ends })
  inProject('run', 'run a tool, or begin a directive')
    .argument('<id>', 'name, category/name or name@version')
    .argument('[parameters...]', 'name=text or name:=json')
    .option('--params <json>', 'all parameters as JSON, @file, or - for standard input')
    .option('--type <item_type>', 'tool, directive or knowledge, where several have the id')
    .option('--run <run_id>', 'as a call of this run')
    .option('--dry-run', 'check everything, run nothing')
    .action(async (id, pairs, options) => ends((await import('./run.ts')).runCommand(id, pairs, options)))
  inProject('finish', 'end a run of a directive')
    .argument('<run>', 'its id: run_id of the reply that began it')
    .action(async (run, options) => ends((await import('./finish.ts')).finishCommand(run, options)))
  addAuthoring({ inProject, ends })
  addServers({ command, inProject, ends }, behindDashes)
  addSecrets({ inProject, ends })
  inProject('sign', 'vouch for items with your own key')
    .argument('<ids...>', 'ids, or patterns such as "*" or "web/**"')
    .option('--type <item_type>', 'tool, directive, knowledge or mcp', 'tool')
    .option('--location <space>', 'project, user or registry')
    .action(async (ids, options) => ends((await import('./sign.ts')).signCommand(ids, options)))
  inProject('trust', 'let the items of this project run, or what is new or changed of a server')
    .argument('[name]', 'a server, or one of its tools: server.tool')
    .option('--yes', 'without asking')
    .option('--revoke', 'let them run no longer')
    .option('--list', 'show the projects that are trusted')
    .action(async (name, options) => ends((await import('./trust.ts')).trustCommand(name, options)))
  inProject('init', 'make the .ai folder of this project, and trust it')
    .option('--yes', 'without asking about items that are already there')
    .action(async (options) => ends((await import('./init.ts')).initCommand(options)))
  addAnswering({ command, ends, wholeNumber })
  addAudit(inProject('audit', 'show the record of calls, newest first'), wholeNumber('--limit')).action(
    async (options) => ends((await import('./audit.ts')).auditCommand(options)),
  )
  inProject('undo', 'show what taking a call back would change, or do it')
    .argument('[call]', 'the id of a call: undo_id of its reply; none lists what can be undone')
    .option('--run <id>', 'all calls of a run or session, newest first')
    .option('--yes', 'do it')
    .action(async (call, options) => ends((await import('./undo.ts')).undoCommand(call, options)))
  inProject('doctor', 'what works here, what does not, and where each setting came from')
    .argument('[server]', 'only how this MCP server stands; one that was never asked is asked')
    .action(async (server, options) => ends((await import('./doctor.ts')).doctorCommand(server, options)))
  command('demo', 'a real client drives the four tools and prints each exchange').action(async (options) =>
    ends((await import('./demo.ts')).demoCommand(options)),
  )
  return program
}

/** The commands that find items, and show them. */
function addSearching({ inProject, ends }: Program): void {
  inProject('search', 'find items in all spaces')
    .argument('[words...]', 'what it does; modifiers such as type:bash or in:project')
    .option('--limit <number>', 'how many results (10)', wholeNumber('--limit'))
    .option('--type <item_type>', 'tool, directive, knowledge or mcp')
    .option('--source <space>', 'project, user, local, builtin or registry')
    .action(async (words, options) => ends((await import('./search.ts')).searchCommand(words, options)))
  inProject('learned', 'show what search learnt from uses, or have it forgotten')
    .option('--forget <item>', 'an id, or all')
    .action(async (options) => ends((await import('./learned.ts')).learnedCommand(options)))
  inProject('load', 'show one item, or copy it')
    .argument('<id>', 'name, category/name or name@version')
    .option('--type <item_type>', 'tool, directive, knowledge or mcp', 'tool')
    .option('--source <space>', 'look in one space only')
    .option('--to <space>', 'copy it to project or user')
    .option('--overwrite', 'replace what is there')
    .option('--depth <number>', 'with what it is related to, up to 3 steps away', wholeNumber('--depth'))
    .action(async (id, options) => ends((await import('./load.ts')).loadCommand(id, options)))
}
