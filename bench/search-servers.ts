import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { z } from 'zod'
import { ROOT } from './measure.ts'
import type { Findable } from './search-quality.ts'

interface RealServer {
  readonly name: string
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

const SERVERS: Readonly<Record<string, RealServer>> = {
  '@modelcontextprotocol/server-everything': { name: 'everything' },
  '@modelcontextprotocol/server-filesystem': { name: 'filesystem', args: [tmpdir()] },
  '@modelcontextprotocol/server-memory': { name: 'memory' },
  '@modelcontextprotocol/server-sequential-thinking': { name: 'sequential-thinking' },
  '@modelcontextprotocol/server-github': { name: 'github' },
  '@modelcontextprotocol/server-gitlab': { name: 'gitlab', env: { GITLAB_PERSONAL_ACCESS_TOKEN: 'none' } },
  '@notionhq/notion-mcp-server': { name: 'notion', env: { NOTION_TOKEN: 'none' } },
}

/** What the servers of npm that we test with offer, asked of themselves. */
export async function toolsOfServers(): Promise<readonly Findable[]> {
  const lists: Findable[] = []
  for (const [packageName, server] of Object.entries(SERVERS))
    lists.push(...(await toolsOf(packageName, server)))
  return lists
}

async function toolsOf(
  packageName: string,
  { name, args = [], env }: RealServer,
): Promise<readonly Findable[]> {
  const at = join(ROOT, 'node_modules', packageName)
  const { bin } = Package.parse(JSON.parse(readFileSync(join(at, 'package.json'), 'utf8')))
  const program = join(at, typeof bin === 'string' ? bin : (Object.values(bin)[0] ?? ''))
  const child = spawn(process.execPath, [program, ...args], {
    env: { PATH: process.env['PATH'], HOME: tmpdir(), ...env },
    cwd: tmpdir(),
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const say = (message: object): void =>
    void child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  const params = {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'bench', version: '1' },
  }
  say({ id: 1, method: 'initialize', params })
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const { success, data } = Answer.safeParse(parsed(line))
      if (!success) continue
      if (data.id === 2) return (data.result.tools ?? []).map((tool) => toFindable(name, tool))
      say({ method: 'notifications/initialized' })
      say({ id: 2, method: 'tools/list', params: {} })
    }
  } finally {
    child.kill()
  }
  throw new Error(`"${packageName}" lists no tools`)
}

/** What is no message is passed by. */
function parsed(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return null
  }
}

function toFindable(server: string, { name, description = '', inputSchema }: z.infer<typeof Tool>): Findable {
  const parameters = Object.entries(inputSchema.properties ?? {})
    .filter(([key]) => /^\w+$/.test(key))
    .map(([key, { description: about = '', enum: values }]) => ({
      name: key,
      description: about,
      enum: values,
    }))
  return { id: `${server}.${name}`, description, parameters }
}

const Tool = z.object({
  name: z.string(),
  description: z.string().optional(),
  inputSchema: z.object({
    properties: z
      .record(
        z.string(),
        z.object({ description: z.string().optional(), enum: z.array(z.unknown()).optional() }),
      )
      .optional(),
  }),
})
const Answer = z.object({
  id: z.union([z.literal(1), z.literal(2)]),
  result: z.object({ tools: z.array(Tool).optional() }),
})
const Package = z.object({ bin: z.union([z.string(), z.record(z.string(), z.string())]) })
