import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { FIXTURES } from '../fixtures/probe.ts'
import { shiftingServer, writeServers } from '../fixtures/shifting-server.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { openTempKiwi } from '../temp-kiwi.ts'

const BUNDLE = join(import.meta.dirname, '../../dist/index.js')
const End = z.object({ ends: z.array(z.string()), waits: z.array(z.number()) })

let temp: TempKiwi
beforeAll(async () => {
  temp = await openTempKiwi()
  mkdirSync(join(temp.config.userSpace, 'config'), { recursive: true })
  // An hour, so that no slow machine outlasts it.
  writeFileSync(
    join(temp.config.userSpace, 'config', 'agent_harness.yaml'),
    'mode: direct\nrequire_signature: false\ninternal_tools:\n  shell: { rate_limit: 40/hour }\n' +
      '  mcps: { acme: { rate_limit: 40/hour } }\n',
  )
  const tools = [{ name: 'echo', description: 'Says it again', inputSchema: { type: 'object' } }]
  writeServers(temp, 'user', { acme: shiftingServer(temp, 'acme', { tools }).entry })
})
afterAll(() => temp.close())

/** Four Kiwis that are told to begin at once. */
async function four(calls: number, tool: string): Promise<readonly z.infer<typeof End>[]> {
  const env = { PATH: process.env['PATH'] ?? '', HOME: temp.folder, KIWI_USER_SPACE: temp.config.userSpace }
  const script = join(FIXTURES, 'kiwi-that-calls.mjs')
  const kiwis = ['a', 'b', 'c', 'd'].map((name) =>
    spawn(process.execPath, [script, BUNDLE, temp.project, name, String(calls), tool], {
      env,
      stdio: ['pipe', 'pipe', 'inherit'],
    }),
  )
  await Promise.all(kiwis.map(({ stdout }) => once(stdout, 'data')))
  for (const { stdin } of kiwis) stdin.write('go\n')
  const said = await Promise.all(kiwis.map(({ stdout }) => text(stdout)))
  return said.map((line) => End.parse(JSON.parse(line)))
}

// Each of them asks the server what it has before its first call: that is none of the forty.
test.each(['shell.run', 'acme.echo'])(
  'H8: four Kiwis on one store let exactly 40 of 80 calls of %s through, and the others hear when to come again',
  async (tool) => {
    const said = await four(20, tool)
    const ends = said.flatMap(({ ends: own }) => own)
    expect(ends.filter((end) => end === 'success')).toHaveLength(40)
    expect(ends.filter((end) => end === 'RATE_LIMITED')).toHaveLength(40)
    const waits = said.flatMap(({ waits: own }) => own)
    expect(waits).toHaveLength(40)
    expect(waits.every((seconds) => Number.isInteger(seconds) && seconds >= 1 && seconds <= 3600)).toBe(true)
  },
  120_000,
)
