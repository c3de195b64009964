import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import type { Place } from '../fixtures/place.ts'
import { makePlace } from '../fixtures/place.ts'
import { kiwi } from './temp-server.ts'

let place: Place
beforeAll(() => {
  place = makePlace()
})
afterAll(() => place.remove())

const Config = z.object({
  mcpServers: z.object({ kiwi: z.object({ command: z.string(), args: z.array(z.string()) }) }),
})

test('X9: what kiwi connect wrote starts a Kiwi with its four tools', async () => {
  const path = join(place.folder, '.gemini/settings.json')
  const dry = await kiwi(place, ['connect', 'gemini', '--dry-run', '--agents-md'])
  expect(dry).toMatchObject({ code: 0, stdout: expect.stringContaining(`would be created  ${path}`) })
  const made = await kiwi(place, ['connect', 'gemini', '--agents-md'])
  expect(made).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(`Connected gemini: ${path} is created`),
  })
  const { command, args } = Config.parse(JSON.parse(readFileSync(path, 'utf8'))).mcpServers.kiwi
  const client = new Client({ name: 'test', version: '1' }, { capabilities: {} })
  await client.connect(new StdioClientTransport({ command, args, cwd: place.project, env: { ...place.env } }))
  try {
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(['search', 'load', 'execute', 'help'])
  } finally {
    await client.close()
  }
  expect(readFileSync(join(place.project, 'AGENTS.md'), 'utf8')).toContain('<!-- kiwi:begin -->')
  expect((await kiwi(place, ['connect', 'gemini', '--agents-md'])).stdout).toContain('is connected already')
  expect(await kiwi(place, ['connect', '--agents-md'])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/AGENTS\.md stays as it is\n$/),
  })
})

test('X9: --project writes the config of the project, by name and not by a path of this machine', async () => {
  const { code, stdout } = await kiwi(place, ['connect', 'claude-code', '--project', '--json'])
  expect([code, JSON.parse(stdout)]).toMatchObject([
    0,
    { status: 'success', data: { client: 'claude-code' } },
  ])
  const written: unknown = JSON.parse(readFileSync(join(place.project, '.mcp.json'), 'utf8'))
  expect(written).toEqual({ mcpServers: { kiwi: { type: 'stdio', command: 'kiwi', args: [] } } })
})

test('X9: a config that cannot be read is refused with its place, and stays', async () => {
  const path = join(place.project, '.mcp.json')
  writeFileSync(path, '{\n  "mcpServers": {,}\n}\n')
  expect(await kiwi(place, ['connect', 'claude-code', '--project'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('line 2, column 18'),
  })
  expect(readFileSync(path, 'utf8')).toBe('{\n  "mcpServers": {,}\n}\n')
  expect(await kiwi(place, ['connect', 'emacs'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Known clients: claude-code'),
  })
})
