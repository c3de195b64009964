import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'rolldown'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startServer } from '../e2e/temp-server.ts'
import type { TempServer } from '../e2e/temp-server.ts'
import type { Place } from '../fixtures/place.ts'
import { makePlace } from '../fixtures/place.ts'
import { reportOn } from './report.ts'

const MINUTES = 60_000
let place: Place
let server: TempServer

beforeAll(async () => {
  place = makePlace()
  await build({
    input: { fixture: join(import.meta.dirname, 'fixture-stdio.ts') },
    platform: 'node',
    external: [/^node:/],
    output: { dir: place.folder, format: 'esm', entryFileNames: '[name].mjs' },
  })
  const items = join(place.folder, 'user', 'tools', 'mcp')
  mkdirSync(items, { recursive: true })
  const item = {
    tool_id: 'mcp_fixture',
    tool_type: 'mcp_server',
    executor: 'subprocess',
    version: '1.0.0',
    description: 'The server of the conformance suite',
    config: { transport: 'stdio', command: process.execPath, args: [join(place.folder, 'fixture.mjs')] },
  }
  writeFileSync(join(items, 'mcp_fixture.yaml'), JSON.stringify(item))
  const config = join(place.folder, 'user', 'config')
  mkdirSync(config, { recursive: true })
  // Nobody's model is used by a server unless somebody said so.
  const sampling = '  - { op: tool, match: { server: fixture, actions: sample }, effect: allow }'
  writeFileSync(join(config, 'agent_harness.yaml'), `mode: direct\nrules:\n${sampling}\n`)
  server = await startServer(place, ['--no-auth', '--passthrough', 'fixture'])
}, MINUTES)

afterAll(async () => {
  await server?.stop()
  place?.remove()
})

test(
  'X2 X3: a server that is passed on passes every required scenario of both eras, tasks and skills',
  async () => {
    const { counts, failures } = await reportOn(server.url)
    expect(failures).toEqual([])
    expect(counts).toEqual({ '2025-11-25': '30/30', '2026-07-28': '37/37', tasks: '9/9', skills: '3/3' })
  },
  5 * MINUTES,
)
