import type { Program } from './authoring.ts'

interface ServerProgram extends Program {
  /** One whose options are all its own. */
  readonly command: Program['inProject']
}

/** The commands that name the MCP servers a person has, and Kiwi as one of those of a client. */
export function addServers({ command, inProject, ends }: ServerProgram, behindDashes: number | null): void {
  command('connect', 'put Kiwi into the config of a client, with a backup')
    .argument('[client]', 'claude-code, claude-desktop, cursor, vscode, codex, gemini or opencode')
    .option('--project [folder]', 'into the config of this project, in place of your own')
    .option(
      '--agents-md',
      'tell models about it in AGENTS.md of the project; without a client nothing else is written',
    )
    .option('--replace', 'in place of another server that is called kiwi there')
    .option('--dry-run', 'show what would be written, write nothing')
    .action(async (client, options) => ends((await import('./connect.ts')).connectCommand(client, options)))
  inProject('add', 'put an MCP server behind Kiwi: add NAME -- command args, add NAME URL, or add NAME')
    .argument('<name>', 'what its tools stand under: NAME.tool; alone, the name of a shipped server')
    .argument('[target...]', 'its address, or behind -- the command that starts it')
    .option('--transport <name>', 'http (usual), sse or websocket')
    .option('--header <name=value>', 'sent with every request; may be given again', another)
    .option('--env <name=value>', 'set for its program; may be given again', another)
    .option('--description <text>', 'what it is for')
    .option('--to <space>', 'user, or project for all who work in it', 'user')
    .option('--dry-run', 'show what would be written, write nothing')
    .action(async (name, target, options) =>
      ends((await import('./add.ts')).addCommand(name, target, { ...options, behindDashes })),
    )
  inProject('remove', 'take an MCP server out of the list')
    .argument('<name>', 'as it was added')
    .option('--from <space>', 'user or project, where both name it')
    .action(async (name, options) => ends((await import('./add.ts')).removeCommand(name, options)))
  inProject('servers', 'the MCP servers there are here, and what each needs').action(async (options) =>
    ends((await import('./servers.ts')).serversCommand(options)),
  )
}

/** An option that may be given several times. */
function another(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value]
}
