import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Place } from '../fixtures/place.ts'
import { makePlace } from '../fixtures/place.ts'
import { stdioClient } from '../fixtures/stdio-client.ts'
import { kiwi } from './temp-server.ts'

let place: Place
beforeAll(() => {
  place = makePlace()
})
afterAll(() => place.remove())

describe('H3: files, by a client of the shipped command', () => {
  test('H3: are written, read and listed; the server for them ends with Kiwi, however that ends', async () => {
    const { client, transport } = await stdioClient(place)
    const run = async (tool: string, parameters: object): Promise<unknown> => {
      const request = { item_type: 'tool', action: 'run', item_id: `filesystem.${tool}`, parameters }
      return (await client.callTool({ name: 'execute', arguments: request })).structuredContent
    }
    expect(await run('write', { path: 'a/b.txt', content: 'Grüße' })).toMatchObject({
      status: 'success',
      data: { output: { bytes_written: 7, had_original: false } },
    })
    expect(await run('read', { path: 'a/b.txt' })).toMatchObject({ data: { output: { content: 'Grüße' } } })
    expect(await run('list', { path: 'a' })).toMatchObject({
      data: { output: { entries: [{ path: 'b.txt' }] } },
    })
    expect(serversOf(place)).toHaveLength(1)
    process.kill(Number(transport.pid), 'SIGKILL')
    await expect.poll(() => serversOf(place), { timeout: 20_000 }).toEqual([])
    await client.close()
  })

  test('H3: by the command line, whose own process ends with its call', async () => {
    writeFileSync(join(place.project, 'x'), 'one')
    const { code, stdout } = await kiwi(place, ['run', 'filesystem.read', 'path=x'])
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { content: 'one' }])
    expect(serversOf(place)).toEqual([])
    const failed = await kiwi(place, ['run', 'filesystem.create', 'path=x'])
    expect([failed.code, failed.stderr]).toEqual([4, expect.stringContaining('CONFLICT')])
    expect(existsSync(join(place.project, 'x'))).toBe(true)
  })
})

/** The processes that run from the work folders of this place. */
function serversOf({ project }: Place): readonly string[] {
  const root = join(project, '..')
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
      return command.includes(root) && command.includes('server.mjs')
    } catch {
      return false
    }
  })
}
