import type { Program } from './authoring.ts'

/** The commands that keep secrets and logins, and grant them. */
export function addSecrets({ inProject, ends }: Program): void {
  inProject('secret', 'keep secrets in the vault: secret set NAME, secret list, secret rm NAME')
    .argument('<action>', 'set (the value is asked for, or read from standard input), list, rm')
    .argument('[name]', 'such as WEATHER_KEY')
    .argument('[argv...]', 'with --command, behind --: the program and its arguments')
    .option('--command', 'set: a program gives the value, each time it is needed: --command -- gh auth token')
    .action(async (action, name, argv, options) =>
      ends((await import('./secret.ts')).secretCommand(action, name, argv, options)),
    )
  inProject('login', 'log in to an MCP server at an address, in the browser')
    .argument('<server>', 'its name')
    .option('--for <principal>', 'only for the calls of local, bearer or user:NAME')
    .option('--no-browser', 'only show the address')
    .option('--yes', 'send the client secret of the config to the issuer that the server names')
    .action(async (server, options) => ends((await import('./login.ts')).loginCommand(server, options)))
  inProject('logout', 'give the login to an MCP server back')
    .argument('<server>', 'its name')
    .option('--for <principal>', 'the login for these calls')
    .action(async (server, options) => ends((await import('./login.ts')).logoutCommand(server, options)))
  inProject('grant', 'let a tool, exactly as it is now, read secrets')
    .argument('[tool]', 'name, category/name or name@version')
    .argument('[names...]', 'secrets that its manifest asks for')
    .option('--to <sink>', 'only for env:NAME, header:Name or host:name; may be given again', another)
    .option('--for <principal>', 'only for the calls of local, bearer or user:NAME')
    .option('--yes', 'without asking')
    .option('--revoke', 'take grants back')
    .option('--list', 'show what is granted')
    .action(async (tool, names, options) =>
      ends((await import('./grant.ts')).grantCommand(tool, names, options)),
    )
}

/** An option that may be given several times. */
function another(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value]
}
