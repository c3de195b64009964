import { loadConfig } from '../config/config.ts'
import { readEnvironment } from '../config/environment.ts'
import { buildServer } from '../server/build-server.ts'
import { openStdio } from '../server/stdio.ts'
import { createServed } from './endpoint.ts'
import { untilEnded } from './until-ended.ts'

/** `kiwi`: the server a client starts. Standard output carries the protocol and nothing else. */
export function stdio(): void {
  if (process.stdin.isTTY) {
    process.stderr.write(
      'Kiwi speaks MCP on standard input: a client starts it.\nTry "kiwi demo" or "kiwi --help"; Ctrl-C ends it.\n',
    )
  }
  const served = createServed(() => loadConfig(readEnvironment()), 'local')
  const server = openStdio(buildServer(served.endpoint))
  const ended = new Promise<void>((resolve) => process.stdin.once('close', resolve).once('end', resolve))
  void untilEnded(ended, async () => {
    await server.close()
    await served.close()
  })
}
