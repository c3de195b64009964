import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { trustProject } from '../upstream/as-person.ts'
import { afterEach, expect, test } from 'vitest'
import type { Reply } from '../../src/shared/reply.ts'
import { writeServers } from '../fixtures/shifting-server.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { openTempKiwi } from '../temp-kiwi.ts'

const LEAKING = fileURLToPath(new URL('../fixtures/leaking-upstream.mjs', import.meta.url))
const CANARY = 'sk-canary/0123456789abcdefXYZ'
const MARK = '[REDACTED:LEAK]'

let temp: TempKiwi
afterEach(() => temp.close())

const ENTRY = { command: process.execPath, args: [LEAKING], env: { LEAK: CANARY } }

/** What of the value can be seen, in whichever look. */
function seenIn(text: string): readonly string[] {
  const bytes = Buffer.from(CANARY)
  const looks = [CANARY.slice(0, 12), CANARY.slice(-12), bytes.toString('hex'), encodeURIComponent(CANARY)]
  return [...looks, bytes.toString('base64').slice(0, 24)].filter((look) => text.includes(look))
}

/** Every file of this Kiwi that holds it, but those that the person wrote. */
function filesWithIt(own: readonly string[]): readonly string[] {
  return readdirSync(temp.folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => !own.includes(path) && seenIn(readFileSync(path, 'latin1')).length > 0)
}

function writeServerFile(name = 'other', value = 'file-canary-0123456789'): string {
  const manifest = {
    tool_id: `mcp_${name}`,
    tool_type: 'mcp_server',
    executor: 'subprocess',
    version: '1.0.0',
    description: 'a server of the tests',
    config: { transport: 'stdio', ...ENTRY, env: { LEAK: value } },
  }
  return temp.write(`tools/mcp/mcp_${name}.yaml`, JSON.stringify(manifest))
}

async function everything(): Promise<readonly Reply[]> {
  const replies = [
    await temp.call('load', { item_type: 'mcp', item_id: 'acme' }),
    await temp.run('acme.tell'),
    await temp.run('acme.fail'),
    await temp.run('acme.rpc'),
    await temp.run('acme.die'),
    await temp.run(`acme.${CANARY}`),
    await temp.call('load', { item_type: 'tool', item_id: 'acme.tell' }),
    await temp.call('execute', { item_type: 'mcp', action: 'discover', item_id: 'acme' }),
    await temp.search('acme tell'),
    await temp.search(CANARY),
    await temp.run('shell.run', { argv: ['echo', CANARY] }),
  ]
  expect(replies[1]).toMatchObject({ status: 'success' })
  return replies
}

test.each([
  ['an entry of mcp_registry.yaml', () => writeServers(temp, 'user', { acme: ENTRY })],
  ['a file', () => writeServerFile('acme', CANARY)],
])(
  'N1, X7, RED-01: a value written out in the env of a server, in %s, comes back nowhere',
  async (_, write) => {
    temp = await openTempKiwi({ kind: 'person' })
    const own = write()
    await trustProject(temp)
    const replies = await everything()
    expect(replies.map((reply) => seenIn(JSON.stringify(reply)))).toEqual(replies.map(() => []))
    expect(JSON.stringify(replies[1])).toContain(MARK)
    const records = JSON.stringify(await temp.kiwi.store.records({ limit: 1000 }))
    expect(seenIn(records)).toEqual([])
    const written = typeof own === 'string' ? own : join(temp.folder, 'user', 'config', 'mcp_registry.yaml')
    expect(filesWithIt([written])).toEqual([])
  },
)

test('N1, X7: known before anything was asked of the server, in the first call of a process', async () => {
  temp = await openTempKiwi({ kind: 'person' })
  writeServers(temp, 'user', {
    acme: { url: 'https://mcp.example.com/mcp', headers: { 'X-Api': `Bearer ${CANARY}` }, enabled: false },
    broken: { command: 'x', env: { OTHER: 'other-canary-0123456789' }, ulr: 'x' },
  })
  writeServerFile()
  writeFileSync(join(temp.project, 'notes.txt'), `${CANARY} other-canary-0123456789 file-canary-0123456789`)
  const reply = await temp.run('filesystem.read', { path: join(temp.project, 'notes.txt') })
  expect(reply).toMatchObject({
    data: { output: { content: '[REDACTED:X-Api] [REDACTED:OTHER] [REDACTED:LEAK]' } },
  })
})
