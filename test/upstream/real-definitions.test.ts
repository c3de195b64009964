import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { isJsonObject, isObject } from '../../src/shared/json.ts'
import type { JsonObject } from '../../src/shared/json.ts'
import { textField } from '../fixtures/field.ts'
import { judgeListing } from '../../src/spaces/definitions/judge-listing.ts'
import { openDefinitionScan } from '../../src/spaces/definitions/scan-definition.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const loadScan = openDefinitionScan(join(ROOT, 'builtin'))

interface RealServer {
  readonly args?: (folder: string) => readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly tools: number
}

const SERVERS: Readonly<Record<string, RealServer>> = {
  '@modelcontextprotocol/server-everything': { tools: 13 },
  '@modelcontextprotocol/server-filesystem': { args: (folder) => [folder], tools: 14 },
  '@modelcontextprotocol/server-memory': { tools: 9 },
  '@modelcontextprotocol/server-sequential-thinking': { tools: 1 },
  '@modelcontextprotocol/server-github': { tools: 26 },
  '@modelcontextprotocol/server-gitlab': { env: { GITLAB_PERSONAL_ACCESS_TOKEN: 'none' }, tools: 9 },
  '@supabase/mcp-server-supabase': {
    args: () => [
      '--access-token',
      'none',
      '--api-url',
      'http://127.0.0.1:9',
      '--features',
      'account,database,debugging,development,functions,branching,storage',
    ],
    tools: 31,
  },
  '@notionhq/notion-mcp-server': { env: { NOTION_TOKEN: 'none' }, tools: 24 },
}

/** Asks a program what it has, with nothing of ours in between. */
function listed(name: string, { args, env }: RealServer, folder: string): Promise<readonly JsonObject[]> {
  const at = join(ROOT, 'node_modules', name)
  const { bin }: { bin: string | Record<string, string> } = JSON.parse(
    readFileSync(join(at, 'package.json'), 'utf8'),
  )
  const program = join(at, typeof bin === 'string' ? bin : (Object.values(bin)[0] ?? ''))
  const child = spawn(process.execPath, [program, ...(args?.(folder) ?? [])], {
    env: { HOME: folder, PATH: process.env['PATH'], ...env },
    cwd: folder,
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const say = (message: object): void =>
    void child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  const hello = {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  }
  say({ id: 1, method: 'initialize', params: hello })
  return new Promise<readonly JsonObject[]>((resolve, reject) => {
    child.once('exit', () => reject(new Error(`${name} ended`)))
    createInterface({ input: child.stdout }).on('line', (line) => {
      const message: unknown = line.startsWith('{') ? JSON.parse(line) : null
      if (!isObject(message)) return
      if (message['id'] === 1) {
        say({ method: 'notifications/initialized' })
        say({ id: 2, method: 'tools/list', params: {} })
      }
      const { result } = message
      if (message['id'] === 2 && isObject(result) && Array.isArray(result['tools']))
        resolve(result['tools'].filter(isJsonObject))
    })
  }).finally(() => child.kill('SIGKILL'))
}

test(
  'X5: no definition of eight real servers raises an alarm, each beside the seven others',
  { timeout: 120_000 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'kiwi-real-'))
    try {
      const all = await Promise.all(
        Object.entries(SERVERS).map(async ([name, server]) => {
          const tools = await listed(name, server, folder)
          expect(tools, name).toHaveLength(server.tools)
          return { name: name.replace(/^.*\/(?:mcp-)?(?:server-)?/, ''), tools }
        }),
      )
      // Most people switch on a part of what it has.
      const part = all.flatMap((each) =>
        each.name === 'supabase'
          ? [{ ...each, tools: each.tools.filter((tool) => !/branch/.test(textField(tool, 'name'))) }]
          : [],
      )
      expect(part).toHaveLength(1)
      for (const { name, tools } of [...all, ...part]) {
        const others = all
          .filter((other) => other.name !== name)
          .map((other) => ({ name: other.name, tools: other.tools.map((tool) => textField(tool, 'name')) }))
        const unlisted = others.map((other) => ({ ...other, tools: [] }))
        for (const otherServers of [others, unlisted]) {
          const scan = await loadScan()
          const terms = { isBaseline: true, isVouched: true, key: name, otherServers, scan }
          const judged = judgeListing([], tools, terms)
          expect(judged.filter(({ state }) => state !== 'usable')).toEqual([])
          expect(judged.filter(({ findings }) => findings.length > 0).length).toBeLessThanOrEqual(6)
          expect(judged).toHaveLength(tools.length)
        }
      }
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
)
