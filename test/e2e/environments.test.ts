import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { PartStore } from '../fixtures/part-store.ts'
import { makePartStore } from '../fixtures/part-store.ts'
import type { Place } from '../fixtures/place.ts'
import { makePlace } from '../fixtures/place.ts'
import { stdioClient } from '../fixtures/stdio-client.ts'
import { removeTree } from '../fixtures/temp-chain.ts'
import { CLI, kiwi, startServer } from './temp-server.ts'

const WAIT = { timeout: 15_000 }
let place: Place
let store: PartStore

const write = (path: string, text: string): void => {
  const target = join(place.project, '.ai', path)
  mkdirSync(dirname(target), { recursive: true })
  writeFileSync(target, text)
}
const tool = (requires: readonly string[]): void =>
  write(
    'tools/cart/tool.yaml',
    JSON.stringify({
      tool_type: 'script',
      executor: 'part_runtime',
      version: '1.0.0',
      description: 'x',
      config: { requires },
    }),
  )
const environments = (): string => join(place.folder, '.cache/kiwi/environments/part_runtime')
const RUN = { item_type: 'tool', action: 'run', item_id: 'cart' }

beforeEach(async () => {
  place = makePlace()
  store = makePartStore(place.folder)
  write('tools/part_runtime.yaml', JSON.stringify({ version: '1.0.0', description: 'x', ...store.runtime }))
  write('tools/cart/main.sh', '#!/bin/bash\ncat "$PARTS"/*')
  tool(['wheel'])
  await kiwi(place, ['trust', '--yes'])
})
afterEach(() => removeTree(place.folder))

describe('C10: several processes', () => {
  test('that need the same environment at the same time build one', async () => {
    store.first('sleep 1')
    const runs = await Promise.all([kiwi(place, ['run', 'cart']), kiwi(place, ['run', 'cart'])])
    expect(runs.map(({ stdout }) => stdout)).toEqual(['part wheel\n', 'part wheel\n'])
    expect(store.calls()).toHaveLength(1)
  })

  test('one that is killed while it builds leaves nothing that is taken for ready', async () => {
    store.first('sleep 60')
    const child = spawn(process.execPath, [CLI, 'run', 'cart'], { cwd: place.project, env: place.env })
    await expect.poll(() => store.calls().length, WAIT).toBe(1)
    child.kill('SIGKILL')
    await once(child, 'close')
    store.first('')
    expect((await kiwi(place, ['run', 'cart'])).stdout).toBe('part wheel\n')
    const [key = ''] = readdirSync(environments())
    expect(readdirSync(join(environments(), key))).toHaveLength(2)
    expect(store.calls()).toHaveLength(2)
  })
})

describe('progress of what takes long', () => {
  test.each(['legacy', 'auto'] as const)('a client of the %s era that asks for it hears it', async (era) => {
    store.first('sleep 0.2')
    const { client } = await stdioClient(place, era)
    tool(['wheel', 'axle'])
    const heard: { progress: number; message?: string | undefined }[] = []
    const result = await client.callTool(
      { name: 'execute', arguments: RUN },
      { onprogress: (progress) => heard.push(progress) },
    )
    expect(result.structuredContent).toMatchObject({ data: { output: 'part axle\npart wheel\n' } })
    expect(heard.map(({ message }) => message)).toEqual(['fetching 2 packages'])
    await client.callTool({ name: 'execute', arguments: RUN })
    await client.close()
    expect(store.calls()).toHaveLength(1)
  })

  test.each(['legacy', 'auto'] as const)('over HTTP too, in the %s era', async (era) => {
    store.first('sleep 0.2')
    const server = await startServer(place)
    const negotiation = era === 'legacy' ? {} : { versionNegotiation: { mode: 'auto' as const } }
    const client = new Client({ name: 'test', version: '1' }, { capabilities: {}, ...negotiation })
    await client.connect(
      new StreamableHTTPClientTransport(new URL(server.url), {
        requestInit: { headers: { Authorization: `Bearer ${server.token}` } },
      }),
    )
    const heard: (string | undefined)[] = []
    await client.callTool(
      { name: 'execute', arguments: { ...RUN, project_path: place.project } },
      { onprogress: ({ message }) => heard.push(message) },
    )
    expect(heard).toEqual(['fetching 1 package'])
    await client.close()
    await server.stop()
  })

  test('a pipe hears nothing of it: standard error stays empty', async () => {
    await kiwi(place, ['sign', 'cart', 'part_runtime'])
    const { stdout, stderr, code } = await kiwi(place, ['run', 'cart'])
    expect({ stdout, stderr, code }).toEqual({ stdout: 'part wheel\n', stderr: '', code: 0 })
  })
})
