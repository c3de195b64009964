// A proxy as one would write it first, on the older SDK: its client behind its server.
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'

const [command, ...args] = process.argv.slice(2)
const client = new Client({ name: 'naive', version: '1' })
await client.connect(new StdioClientTransport({ command, args, stderr: 'ignore' }))
const server = new Server({ name: 'naive', version: '1' }, { capabilities: { tools: {} } })
server.setRequestHandler(ListToolsRequestSchema, () => client.listTools())
server.setRequestHandler(CallToolRequestSchema, ({ params }) => client.callTool(params))
await server.connect(new StdioServerTransport())
