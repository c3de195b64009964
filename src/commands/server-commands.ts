import type { Program } from './authoring.ts'

/** The commands that name the MCP servers a person has. */
export function addServers({ inProject, ends }: Program, hasDashes: boolean): void {
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
      ends((await import('./add.ts')).addCommand(name, target, { ...options, hasDashes })),
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
