import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Place } from '../fixtures/place.ts'
import { makePlace } from '../fixtures/place.ts'
import { kiwi } from './temp-server.ts'

const MEMORY = fileURLToPath(
  new URL('../../node_modules/@modelcontextprotocol/server-memory/dist/index.js', import.meta.url),
)
const CANARY = 'kiwi-canary-0123456789'
const PATIENCE = 120_000

let place: Place
beforeEach(() => {
  place = makePlace()
  place = { ...place, env: { ...place.env, KIWI_VAULT_PASSPHRASE: 'of the tests' } }
})
afterEach(() => place.remove())

const run = async (...args: readonly string[]): Promise<string> => {
  const { stdout, stderr } = await kiwi(place, args)
  return stdout + stderr
}
const file = (): string => readFileSync(join(place.folder, 'user/config/mcp_registry.yaml'), 'utf8')

describe('M1: servers at the command line', { timeout: PATIENCE }, () => {
  test('M1, M2: a real server is added, called by the agent and shown', async () => {
    const path = join(place.folder, 'user/config/mcp_registry.yaml')
    expect(await run('add', 'memory', '--env', `MY_TOKEN=${CANARY}`, '--', 'node', MEMORY)).toBe(
      [
        `Added "memory" in ${path}`,
        'Kept in the vault and granted to mcp_memory, as you typed it: MY_TOKEN',
        'Next: kiwi load memory --type mcp',
        '',
      ].join('\n'),
    )
    expect(file()).not.toContain(CANARY)
    expect(await run('servers')).toMatch(/memory +user +stdio +person +not asked yet +ready/)
    expect(await run('load', 'memory', '--type', 'mcp')).toContain('read_graph')
    expect(await run('servers')).toMatch(/memory +user +stdio +person +9 +ready/)
    expect(await run('run', 'memory.read_graph')).toContain('entities')
    expect(await run('remove', 'memory')).toBe(`Removed "memory" from ${path}\n`)
    expect(await run('servers')).toContain('No server yet')
  })

  test('M8: doctor says what a server needs, and the command for it', async () => {
    await run('add', 'supabase')
    await run('add', 'gone', '--', 'no-such-program-here')
    await run('add', 'old', '--', 'node', '@anthropic/mcp-github@1')
    const needs = await run('doctor')
    expect(needs).toContain('"mcp_supabase": it asks for SUPABASE_ACCESS_TOKEN without a grant')
    expect(needs).toContain('kiwi grant mcp_supabase SUPABASE_ACCESS_TOKEN')
    expect(needs).toContain('"no-such-program-here": it is not on the PATH')
    expect(needs).toContain('called @modelcontextprotocol/server-github now')
    await run('grant', 'mcp_supabase', 'SUPABASE_ACCESS_TOKEN', '--yes')
    expect(await run('servers')).toContain('kiwi secret set SUPABASE_ACCESS_TOKEN')
  })

  test('M5, M8: of a server that ends at its start the person reads what it wrote, and nobody is told to repeat it', async () => {
    await run('add', 'broken', '--', process.execPath, '-e', 'require("/no/such/module")')
    const said = await run('run', 'broken.echo')
    expect(said).toContain(
      `Cannot start "mcp_broken": it ended with code 1: Error: Cannot find module '/no/such/module'`,
    )
    expect(said).toContain('kiwi doctor says what "broken" needs')
    expect(said).toMatch(/it wrote:\n(?: {4}.*\n)* {4}Error: Cannot find module/)
    expect(said).not.toContain('Send the call again')
  })

  test('M1: kiwi import knows the config of a client by its name', async () => {
    mkdirSync(join(place.folder, '.cursor'), { recursive: true })
    const path = join(place.folder, '.cursor/mcp.json')
    const server = { command: 'node', args: ['x'], env: { API_KEY: CANARY } }
    writeFileSync(path, JSON.stringify({ mcpServers: { a: server, kiwi: { command: 'kiwi' } } }))
    expect(await run('import', path, '--dry-run')).toContain('Nothing was written')
    const report = await run('import', 'mcp')
    expect(report).toMatch(/imported +a /)
    expect(report).toMatch(/skipped +kiwi +it is Kiwi itself/)
    expect(report).toContain('kept in the vault and granted to its server: API_KEY')
    expect(file()).toContain('API_KEY: ${API_KEY}')
    const [, batch = ''] = /--undo (\w+)/.exec(report) ?? []
    await run('import', '--undo', batch, '--yes')
    expect(await run('servers')).toContain('No server yet')
  })
})
