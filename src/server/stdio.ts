import type { McpServerFactory } from '@modelcontextprotocol/server'
import { McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import type { CallLane } from './call-lane.ts'
import { laneOf } from './call-lane.ts'
import { lineTransport } from './line-transport.ts'

/** Speaks the protocol on standard input and output, in whichever era the client opens. `hear` is given what clients of the newer era send. */
export function openStdio(
  build: McpServerFactory,
  hear: (message: unknown) => void = () => {},
): { close(): Promise<void> } {
  let lane: CallLane | null = null
  const transport = lineTransport(process.stdin, process.stdout, (message, answer) => {
    if (lane !== null) return lane.take(message, answer)
    hear(message)
    return false
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
