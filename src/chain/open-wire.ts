import { openHttpWire } from '../upstream/http-wire.ts'
import { openSseWire } from '../upstream/sse-wire.ts'
import { openStdioWire } from '../upstream/stdio-wire.ts'
import { openWebSocketWire } from '../upstream/websocket-wire.ts'
import type { Wire } from '../upstream/wire.ts'
import type { Watch } from '../shared/progress.ts'
import type { UpstreamDraft } from './draft-upstream.ts'
import { sessionOf } from './draft-upstream.ts'
import type { PerformMeans } from './perform-means.ts'
import { prepareCommand } from './prepare-command.ts'

/** Starts the program of a server, or reaches for its address. */
export async function openWire(
  { server, served, startupMs }: UpstreamDraft,
  means: PerformMeans,
  watch: Watch,
): Promise<Wire> {
  const { id } = served.item
  if (server.kind === 'stdio') {
    const command = await prepareCommand(served, server.command, means, watch)
    return openStdioWire(id, means.subprocess, sessionOf(command))
  }
  const { url, headers } = server.request
  const credential = server.login === null ? undefined : means.oauth.credential(server.login)
  const remote = { id, url, headers, startupMs, credential }
  const httpClient = means.httpClients.of(served)
  switch (server.transport) {
    case 'http':
      return openHttpWire(remote, httpClient)
    case 'sse':
      return openSseWire(remote, httpClient)
    case 'websocket':
      return openWebSocketWire(remote, httpClient)
  }
}
