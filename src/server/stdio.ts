import type { McpServerFactory } from '@modelcontextprotocol/server'
import { McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import type { CallLane } from './call-lane.ts'
import { laneOf } from './call-lane.ts'
import { lineTransport } from './line-transport.ts'
import { listenedTo } from './listened-to.ts'

interface Spoken {
  readonly build: McpServerFactory
  /** Told to which resources a client of the newer era will listen: it does when this has ended. */
  readonly listen: (uris: readonly string[]) => Promise<void>
}

/** Speaks the protocol on standard input and output, in whichever era the client opens. */
export function openStdio({ build, listen }: Spoken): { close(): Promise<void> } {
  let lane: CallLane | null = null
  const transport = lineTransport(process.stdin, process.stdout, (message, answer) => {
    if (lane !== null) return lane.take(message, answer)
    const uris = listenedTo(message)
    return uris === null ? false : listen(uris)
  })
  process.stdin.once('close', () => lane?.close())
  return serveStdio(
    async (context) => {
      const built = await build(context)
      if (context.era === 'legacy') lane = laneOf(built instanceof McpServer ? built.server : built)
      return built
    },
    { transport },
  )
}
