// The denominator of the cold start: the official low-level server, not bundled, with four tools that do nothing.
import { Server } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'

const tools = ['search', 'load', 'execute', 'help'].map((name) => ({
  name,
  description: name,
  inputSchema: { type: 'object' },
}))
serveStdio(() => {
  const server = new Server({ name: 'bare', version: '1' }, { capabilities: { tools: {} } })
  server.setRequestHandler('tools/list', async () => ({ tools }))
  return server
})
