import { readFileSync, writeFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { ROOT } from './measure.ts'
import { measureQuality } from './search-quality.ts'
import { measureSpeed } from './search-speed.ts'
import { toolsOfServers } from './search-servers.ts'

const EvalFile = z.object({
  tools: z.array(z.object({ tool_id: z.string(), description: z.string() })),
  queries: z.array(z.object({ query: z.string(), tool: z.string() })),
})
const OwnFile = z.object({ queries: z.array(z.tuple([z.string()], z.string())) })

/** `npm run bench:search [-- --eval FILE] [-- --write]`: how often the right item comes first, and how soon. */
const { values: given } = parseArgs({
  options: { eval: { type: 'string' }, write: { type: 'boolean' }, 'no-speed': { type: 'boolean' } },
})
const lines = ['| set | R@1 | R@5 | MRR |', '| --- | --- | --- | --- |']
if (given.eval !== undefined) {
  const { tools, queries } = EvalFile.parse(JSON.parse(readFileSync(given.eval, 'utf8')))
  const items = tools.map(({ tool_id, description }) => ({ id: tool_id, description, parameters: [] }))
  const asked = queries.map(({ query, tool }) => ({ query, wanted: [tool] }))
  lines.push(await measureQuality(`${tools.length} tools, requests of users`, items, asked))
}
const own = OwnFile.parse(JSON.parse(readFileSync(join(ROOT, 'bench/search-queries.json'), 'utf8')))
const listed = await toolsOfServers()
lines.push(
  await measureQuality(
    `${listed.length} tools of real servers, requests without their words`,
    listed,
    own.queries.map(([query, ...wanted]) => ({ query, wanted })),
  ),
)
if (given['no-speed'] !== true) lines.push('', ...(await measureSpeed()))
const machine = `Node ${process.version}, ${cpus().length} x ${cpus()[0]?.model ?? 'unknown'}, load ${loadavg()[0]?.toFixed(1)}`
const section = [...lines, '', machine].join('\n')
console.log(section)
if (given.write === true) write(page(section))

/** On its own page, and on the one that holds all figures. */
function write(text: string): void {
  writeFileSync(join(ROOT, 'docs/benchmarks-search.md'), text)
  const all = join(ROOT, 'docs/benchmarks.md')
  const [others = ''] = readFileSync(all, 'utf8').split(/^## Search$/m, 1)
  writeFileSync(all, others + text.replace(/^# Search$/m, '## Search'))
}

function page(text: string): string {
  return `# Search

Written by \`npm run bench:search -- --eval FILE --write\`. R@1 and R@5: how often a right item is the first, or among the
first five; MRR: the mean of one over its place. FILE is a set of tools and requests (\`{"tools": [{"tool_id", "description"}],
"queries": [{"query", "tool"}]}\`); the requests for the tools of real servers are in \`bench/search-queries.json\`.

${text}
`
}
