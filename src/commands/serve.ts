import { loadConfig } from '../config/config.ts'
import { readEnvironment } from '../config/environment.ts'
import { buildServer } from '../server/build-server.ts'
import { openHttp } from '../server/http.ts'
import { readOrMakeToken } from '../server/token.ts'
import { systemClock } from '../shared/clock.ts'
import { createIds } from '../shared/ids.ts'
import { createDesk } from './desk.ts'
import { createServed, openWhole } from './endpoint.ts'
import type { Terminal } from './terminal.ts'
import { openTerminal } from './terminal.ts'
import { untilEnded } from './until-ended.ts'

interface ServeOptions {
  readonly port?: number
  readonly auth: boolean
  readonly json?: boolean
  /** A server to be seen whole in place of the four tools. */
  readonly passthrough?: string
}

/** `kiwi serve`: the endpoint over HTTP on this machine. */
export async function serveCommand(options: ServeOptions): Promise<number> {
  const flags = options.port === undefined ? {} : { port: options.port }
  const config = loadConfig(readEnvironment(), flags)
  const token = options.auth ? await readOrMakeToken(config.token) : null
  const served = createServed(() => config, token === null ? 'local' : 'bearer')
  const endpoint = { ...served.endpoint, hasManyClients: true }
  const whole =
    options.passthrough === undefined ? null : await openWhole({ ...served, endpoint }, options.passthrough)
  const shown = whole ?? buildServer(endpoint)
  const http = await openHttp(shown.build, {
    bus: shown.bus,
    port: config.port,
    token: token?.token ?? null,
    clock: systemClock,
    desk: createDesk(served.open, createIds(Date.now)),
  })
  const terminal = openTerminal()
  if (options.json === true)
    terminal.out(JSON.stringify({ url: http.url, token_file: token === null ? null : config.token }))
  else {
    welcome(
      terminal,
      { url: http.url, name: options.passthrough ?? 'kiwi' },
      token === null ? null : { ...token, file: config.token },
    )
    if (options.passthrough === undefined) suggest(terminal, http.url)
    else
      terminal.out(`\nClients see "${options.passthrough}" as if they were connected to it. Ctrl-C ends it.`)
  }
  await untilEnded(new Promise(() => undefined), async () => {
    shown.close()
    await http.close()
    await served.close()
  })
  return 0
}

function welcome(
  terminal: Terminal,
  { url, name }: { readonly url: string; readonly name: string },
  token: { token: string; isNew: boolean; file: string } | null,
): void {
  const bearer = token === null ? '' : ` --header "Authorization: Bearer $(cat ${token.file})"`
  terminal.out(`${terminal.bold('Kiwi MCP')} listens on ${terminal.bold(url)}`)
  if (token === null) terminal.out('Without authentication: every program on this machine may call it.')
  else if (token.isNew)
    terminal.out(`Token, shown this once: ${token.token}\nIt is kept in ${token.file}, readable by you only.`)
  else terminal.out(`Token: in ${token.file}`)
  terminal.out(`
Connect a client
  Claude Code   claude mcp add --transport http ${name} ${url}${bearer}
  any other     streamable HTTP, ${url}${token === null ? '' : ', header Authorization: Bearer <token>'}`)
}

function suggest(terminal: Terminal, url: string): void {
  terminal.out(`
Try (in your client, or in another terminal)
  search   {"query": "say hello"}
  execute  {"item_type": "tool", "action": "run", "item_id": "hello_world", "parameters": {"name": "Ada"}}
  help     {}

  node dist/cli.js demo      a real client drives all four tools and prints each exchange
  node dist/cli.js audit     every call is on record
  node dist/cli.js approvals --link --port ${new URL(url).port}
                             a page in your browser where you answer what waits for you
Ctrl-C ends it.`)
}
