import { Command, CommanderError } from 'commander'
import { toKiwiError } from '../meta/reply.ts'
import { ERRORS } from '../shared/errors.ts'
import { VERSION } from '../shared/version.ts'
import { openTerminal, printError } from './terminal.ts'

/** Reads the command line and runs one command. Returns the exit code: see the table of errors. */
export async function runProgram(argv: readonly string[]): Promise<number> {
  // Whoever read our output has seen enough: `kiwi search | head`.
  process.stdout.on('error', () => process.exit(0))
  let code = 0
  const ends = (run: Promise<number>): Promise<void> => run.then((result) => void (code = result))
  try {
    await createProgram(ends)
      .exitOverride()
      .parseAsync([...argv])
    return code
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : ERRORS.UNKNOWN_ARGUMENT.exit
    const failure = toKiwiError(error)
    printError(
      {
        code: failure.code,
        message: failure.message,
        hint: failure.hint,
        ...(failure.fix ? { fix: failure.fix } : {}),
      },
      openTerminal(),
    )
    return ERRORS[failure.code].exit
  }
}

/** Each command is imported when it is called. */
function createProgram(ends: (run: Promise<number>) => Promise<void>): Command {
  const program = new Command('kiwi')
    .description(
      'One MCP server that is a kernel for AI agents.\nWithout a command it speaks MCP on standard input and output.',
    )
    .version(VERSION)
    .showHelpAfterError('(kiwi --help lists the commands)')
  const command = (name: string, description: string): Command =>
    program.command(name).description(description).option('--json', 'print the reply as JSON').exitOverride()
  const inProject = (name: string, description: string): Command =>
    command(name, description).option(
      '--project <folder>',
      'work in this project instead of the current folder',
    )

  command('serve', 'listen for clients over HTTP on this machine')
    .option('--port <number>', 'port to listen on (7717)')
    .option('--no-auth', 'let every program on this machine call it')
    .action(async (options) => ends((await import('./serve.ts')).serveCommand(options)))
  inProject('search', 'find items in all spaces')
    .argument('[words...]', 'what it does; modifiers such as type:bash or in:project')
    .option('--limit <number>', 'how many results (10)')
    .option('--type <item_type>', 'tool, directive, knowledge or mcp')
    .option('--source <space>', 'project, user, local, builtin or registry')
    .action(async (words, options) => ends((await import('./search.ts')).searchCommand(words, options)))
  inProject('load', 'show one item, or copy it')
    .argument('<id>', 'name, category/name or name@version')
    .option('--type <item_type>', 'tool, directive, knowledge or mcp', 'tool')
    .option('--source <space>', 'look in one space only')
    .option('--to <space>', 'copy it to project or user')
    .option('--overwrite', 'replace what is there')
    .action(async (id, options) => ends((await import('./load.ts')).loadCommand(id, options)))
  inProject('run', 'run a tool')
    .argument('<id>', 'name, category/name or name@version')
    .argument('[parameters...]', 'name=text or name:=json')
    .option('--params <json>', 'all parameters as JSON, @file, or - for standard input')
    .option('--type <item_type>', 'tool or knowledge', 'tool')
    .option('--dry-run', 'check everything, run nothing')
    .action(async (id, pairs, options) => ends((await import('./run.ts')).runCommand(id, pairs, options)))
  inProject('create', 'make a tool from a manifest file or a folder with tool.yaml')
    .argument('<source>', 'manifest.yaml, or a folder')
    .option('--location <space>', 'project, user or registry', 'project')
    .option('--id <id>', 'its id, when the manifest has none')
    .option('--dry-run', 'check everything, write nothing')
    .action(async (source, options) => ends((await import('./create.ts')).createCommand(source, options)))
  inProject('audit', 'show the record of calls, newest first')
    .option('--limit <number>', 'how many records', '20')
    .option('--tool <id>', 'only of this item')
    .option('--session <id>', 'only of this session')
    .option('--call <id>', 'only of this call')
    .option('--status <status>', 'allow, deny, success, error, denied, timeout, cancelled or unknown')
    .option('--verify', 'check that no record was changed, removed or moved')
    .action(async (options) => ends((await import('./audit.ts')).auditCommand(options)))
  inProject('doctor', 'what works here, what does not, and where each setting came from').action(
    async (options) => ends((await import('./doctor.ts')).doctorCommand(options)),
  )
  command('demo', 'a real client drives the four tools and prints each exchange').action(async (options) =>
    ends((await import('./demo.ts')).demoCommand(options)),
  )
  return program
}
