import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { field } from '../fixtures/field.ts'
import type { Place } from '../fixtures/place.ts'
import { makePlace } from '../fixtures/place.ts'
import { FIXTURES, isAlive } from '../fixtures/probe.ts'
import { openTempUpstreams } from '../fixtures/temp-upstreams.ts'

const BUNDLE = join(import.meta.dirname, '../../dist/index.js')
const SCRIPT = `sleep 999 & exec "${process.execPath}" "${join(FIXTURES, 'upstream.mjs')}"`

function writeTool({ env }: Place, id: string, manifest: object): void {
  const folder = join(env['KIWI_USER_SPACE'] ?? '', 'tools', id)
  mkdirSync(folder, { recursive: true })
  const whole = { tool_id: id, version: '1.0.0', description: id, ...manifest }
  writeFileSync(join(folder, 'tool.yaml'), JSON.stringify(whole))
}

function childrenOf(pid: number): readonly number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ').filter(Boolean).map(Number)
}

describe.skipIf(process.platform !== 'linux')('M3: when Kiwi dies', () => {
  test.each(['SIGKILL', 'SIGTERM'] as const)(
    'M3: by %s, the whole tree of an upstream is gone',
    async (signal) => {
      const place = makePlace()
      try {
        const config = { transport: 'stdio', command: 'sh', args: ['-c', SCRIPT] }
        writeTool(place, 'own', { tool_type: 'mcp_server', executor: 'subprocess', config })
        writeTool(place, 'own.echo', {
          tool_type: 'mcp_tool',
          executor: 'own',
          input_schema: { type: 'object' },
        })
        const driver = join(FIXTURES, 'kiwi-with-upstream.mjs')
        const kiwi = spawn(process.execPath, [driver, BUNDLE, place.project, 'own.echo'], { env: place.env })
        const line = await new Promise<string>((resolve, reject) => {
          kiwi.stdout.once('data', (chunk: Buffer) => resolve(chunk.toString()))
          kiwi.once('exit', (code) => reject(new Error(`it ended with ${code}`)))
        })
        const reply: unknown = JSON.parse(line)
        const upstream = Number(String(field(reply, 'data', 'output')).split(' ')[0])
        const tree = [upstream, ...childrenOf(upstream)]
        expect(tree).toHaveLength(2)
        expect(tree.filter(isAlive)).toEqual(tree)
        kiwi.kill(signal)
        await expect.poll(() => tree.filter(isAlive), { timeout: 10_000 }).toEqual([])
      } finally {
        place.remove()
      }
    },
  )
})

test('M5, B11: after an upstream was killed between calls the next call is served by another', async () => {
  const temp = openTempUpstreams()
  const tookMs: number[] = []
  for (let round = 0; round < 5; round++) {
    process.kill(await temp.pid(), 'SIGKILL')
    const begun = performance.now()
    expect(await temp.pid()).toBeGreaterThan(0)
    tookMs.push(Math.round(performance.now() - begun))
  }
  process.stderr.write(`B11: served again after ${tookMs.join(', ')} ms\n`)
  expect(temp.starts).toBe(6)
  await temp.close()
})
