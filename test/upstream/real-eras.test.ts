import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { tmpdir } from 'node:os'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { field } from '../fixtures/field.ts'
import type { TempUpstreams } from '../fixtures/temp-upstreams.ts'
import { openTempUpstreams } from '../fixtures/temp-upstreams.ts'

let temp: TempUpstreams
beforeAll(() => {
  temp = openTempUpstreams()
})
afterAll(() => temp.close())

/** The program of a package. Not all of them let their manifest be imported. */
function programOf(name: string): string {
  const manifest = join(import.meta.dirname, '../../node_modules', name, 'package.json')
  const bin = field(JSON.parse(readFileSync(manifest, 'utf8')), 'bin')
  const [file] = typeof bin === 'object' && bin !== null ? Object.values(bin) : [bin]
  return join(dirname(manifest), String(file))
}

const OFFLINE = ['--access-token', 'none', '--api-url', 'http://127.0.0.1:9', '--features', 'database']

describe('M2: real servers are spoken to in the revision they know, with one start each', () => {
  test.each([
    ['@modelcontextprotocol/server-everything', [], 'legacy', '2025-11-25'],
    ['@modelcontextprotocol/server-filesystem', [tmpdir()], 'legacy', '2025-11-25'],
    ['@modelcontextprotocol/server-memory', [], 'legacy', '2025-11-25'],
    ['@modelcontextprotocol/server-sequential-thinking', [], 'legacy', '2025-11-25'],
    ['@modelcontextprotocol/server-github', [], 'legacy', '2024-11-05'],
    ['@modelcontextprotocol/server-gitlab', [], 'legacy', '2024-11-05'],
    ['@notionhq/notion-mcp-server', [], 'legacy', '2025-11-25'],
    ['@supabase/mcp-server-supabase', OFFLINE, 'modern', '2026-07-28'],
  ])('M2: %s', { timeout: 60_000 }, async (name, args, era, protocol) => {
    const before = temp.starts
    const upstream = temp.program(name, [programOf(name), ...args], { startupMs: 30_000 })
    expect(await temp.upstreams.describe(upstream)).toMatchObject({ era, protocol })
    const list = { method: 'tools/list', params: {}, timeoutMs: 30_000, isRepeatable: true }
    expect(field(await temp.upstreams.request(upstream, list), 'tools')).not.toHaveLength(0)
    expect(temp.starts - before).toBe(1)
  })
})
