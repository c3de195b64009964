// Files as an MCP server over standard input and output. It decides nothing: every path comes judged with the call,
// as the system names it, and is used as exactly that or not at all.
import { move, list, remove } from './entries.mjs'
import { create, read, stat, write } from './files.mjs'
import { Refusal, reasonOf } from './folder.mjs'
import { search } from './search.mjs'

const TOOLS = { read, write, create, list, stat, search, delete: remove, move }
const NEWLINE = 0x0a
const open = new Map()

const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'kiwi-filesystem', version: '1.0.0' },
  }),
  ping: () => ({}),
  'tools/list': () => ({
    tools: Object.keys(TOOLS).map((name) => ({ name, inputSchema: { type: 'object' } })),
  }),
  'tools/call': callTool,
}

let rest = []
process.stdin.on('data', (chunk) => {
  let from = 0
  for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
    rest.push(chunk.subarray(from, at))
    void answer(Buffer.concat(rest).toString('utf8'))
    rest = []
    from = at + 1
  }
  if (from < chunk.length) rest.push(chunk.subarray(from))
})

async function answer(line) {
  const { id, method, params = {} } = JSON.parse(line)
  if (method === 'notifications/cancelled') open.get(params.requestId)?.abort()
  if (id === undefined) return
  const cancel = new AbortController()
  open.set(id, cancel)
  const handle = Object.hasOwn(METHODS, method) ? METHODS[method] : null
  const said =
    handle === null
      ? { error: { code: -32601, message: `no method ${method}` } }
      : { result: await handle(params, cancel.signal) }
  open.delete(id)
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...said })}\n`)
}

async function callTool({ name, arguments: args = {}, _meta: meta = {} }, signal) {
  try {
    const tool = Object.hasOwn(TOOLS, name) ? TOOLS[name] : null
    if (tool === null) throw new Refusal('there is no such tool')
    const paths = judged(args, meta['kiwi/paths'] ?? {})
    return {
      content: [],
      structuredContent: await tool({ paths, args, seen: meta['kiwi/seen'] ?? {}, signal }),
    }
  } catch (error) {
    const text = `Cannot ${name} "${args.path}": ${reasonOf(error)}`
    const { code, hint } = error instanceof Refusal ? error : { code: 'TOOL_FAILED', hint: null }
    return { content: [{ type: 'text', text }], isError: true, _meta: { 'kiwi/error': { code, hint } } }
  }
}

/** What the arguments call `path` and `to`, as it was judged. */
function judged(args, known) {
  const named = ['path', 'to'].filter((key) => args[key] !== undefined)
  return Object.fromEntries(
    named.map((key) => {
      if (!Object.hasOwn(known, args[key])) throw new Refusal('nobody has judged the path')
      return [key, known[args[key]]]
    }),
  )
}
