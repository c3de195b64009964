// The same on the newer SDK.
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Server } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'

const [command, ...args] = process.argv.slice(2)
const client = new Client({ name: 'naive', version: '1' })
await client.connect(new StdioClientTransport({ command, args, stderr: 'ignore' }))
serveStdio(() => {
  const server = new Server({ name: 'naive', version: '1' }, { capabilities: { tools: {} } })
  server.setRequestHandler('tools/list', () => client.listTools())
  server.setRequestHandler('tools/call', ({ params }) => client.callTool(params))
  return server
})
