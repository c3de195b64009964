import { loadConfig } from '../config/config.ts'
import { readEnvironment } from '../config/environment.ts'
import { buildServer } from '../server/build-server.ts'
import { openStdio } from '../server/stdio.ts'
import { createServed, openWhole } from './endpoint.ts'
import { untilEnded } from './until-ended.ts'

interface StdioOptions {
  /** A server to be seen whole in place of the four tools. */
  readonly passthrough?: string
}

/** `kiwi`: the server a client starts. Standard output carries the protocol and nothing else. */
export async function stdio(options: StdioOptions = {}): Promise<void> {
  if (process.stdin.isTTY) {
    process.stderr.write(
      'Kiwi speaks MCP on standard input: a client starts it.\nTry "kiwi demo" or "kiwi --help"; Ctrl-C ends it.\n',
    )
  }
  const served = createServed(() => loadConfig(readEnvironment()), 'local')
  const whole = options.passthrough === undefined ? null : await openWhole(served, options.passthrough)
  const server = openStdio(whole?.build ?? buildServer(served.endpoint), (message) => whole?.hear(message))
  const ended = new Promise<void>((resolve) => process.stdin.once('close', resolve).once('end', resolve))
  await untilEnded(ended, async () => {
    whole?.close()
    await server.close()
    await served.close()
  })
}
