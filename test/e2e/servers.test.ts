import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Place } from '../fixtures/place.ts'
import { makePlace } from '../fixtures/place.ts'
import { kiwi } from './temp-server.ts'

const MEMORY = fileURLToPath(
  new URL('../../node_modules/@modelcontextprotocol/server-memory/dist/index.js', import.meta.url),
)
const EVERYTHING = MEMORY.replace('server-memory', 'server-everything')
const CANARY = 'kiwi-canary-0123456789'
const PATIENCE = 120_000

/** Lists what a file says. */
const LISTING = `
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
const say = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n')
const serverInfo = { name: 'shifty', version: '1' }
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (method === 'initialize')
    say(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo })
  else if (method === 'tools/list') say(id, { tools: JSON.parse(readFileSync(process.argv[2], 'utf8')) })
  else if (method === 'tools/call') say(id, { content: [{ type: 'text', text: 'done' }] })
  else if (id !== undefined)
    process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } }) + '\\n')
})
`

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
  test('M1, M2, M7: a real server is added, found by the first search, called and shown', async () => {
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
    // Nothing is left running that could list it later.
    expect(await run('search', 'mcp:memory', 'create')).toContain('memory.create_entities')
    expect(await run('load', 'memory', '--type', 'mcp')).toContain('read_graph')
    expect(await run('servers')).toMatch(/memory +user +stdio +person +9 +ready/)
    expect(await run('run', 'memory.read_graph')).toContain('entities')
    expect(await run('remove', 'memory')).toBe(`Removed "memory" from ${path}\n`)
    expect(await run('servers')).toContain('No server yet')
  })

  test('M4, X10: the very first call knows the schema, and what an override names in vain is shown', async () => {
    await run('add', 'sums', '--', 'node', EVERYTHING, 'stdio')
    writeFileSync(
      join(place.folder, 'user/config/mcp_registry.yaml'),
      `${file()}    tools: {overrides: {nosuch: {name: other}, echo: {arguments: {nowhere: {default: 1}}}}}\n`,
    )
    expect(await run('servers')).not.toContain('nosuch')
    expect(await run('run', 'sums.get-sum', 'a=1', 'b=2')).toContain('The sum of 1 and 2 is 3')
    const shown = await run('servers')
    expect(shown).toMatch(/sums: .*nosuch/)
    expect(shown).toMatch(/sums: .*nowhere/)
  })

  test('M8: what is added again as it was is left, and one that could not be asked is not called ready', async () => {
    const far = ['add', 'far', 'http://127.0.0.1:9/mcp']
    expect(await run(...far)).toContain('Added "far"')
    expect(await run(...far)).toContain('Left as it was: "far"')
    expect(await run('servers')).toMatch(/far .* ready/)
    expect(await run('load', 'far', '--type', 'mcp')).toContain('Cannot use "far": cannot reach')
    expect(await run('servers')).toMatch(/far .* Cannot use "far": cannot reach "127.0.0.1:9"/)
    const page = createServer((request, response) =>
      request.url === '/mcp' ? response.writeHead(404).end() : response.end('<html>'),
    )
    await new Promise<void>((resolve) => page.listen(0, '127.0.0.1', resolve))
    const { port } = z.object({ port: z.number() }).parse(page.address())
    try {
      for (const [name, path, said] of [
        ['none', 'mcp', '404 Not Found'],
        ['page', '', 'it answered with nothing'],
      ] as const) {
        await run('add', name, `http://127.0.0.1:${port}/${path}`)
        const failed = await run('run', `${name}.x`)
        expect(failed).toContain(`Cannot use "${name}": ${said}`)
        expect(failed).toContain('Check the address and the transport of the server')
        expect(await run('servers')).toMatch(new RegExp(`${name} .* Cannot use "${name}": ${said}`))
      }
    } finally {
      page.closeAllConnections()
      page.close()
    }
  })

  test('X5, M8: of a server whose tools are held back, servers says which command shows them', async () => {
    const path = join(place.folder, 'shifty.json')
    const shown = join(place.folder, 'shifty.mjs')
    const say = (description: string): void =>
      writeFileSync(path, JSON.stringify([{ name: 'add', description, inputSchema: { type: 'object' } }]))
    writeFileSync(shown, LISTING)
    say('Adds')
    await run('add', 'shifty', '--', 'node', shown, path)
    expect(await run('run', 'shifty.add')).toContain('done')
    say('Adds more')
    expect(await run('run', 'shifty.add')).toContain('QUARANTINED')
    const lines = await run('servers')
    expect(lines).toMatch(/shifty .* 0, 1 held back +ready/)
    expect(lines).toContain('shifty: 1 tool is held back, kiwi trust shifty shows it')
  })

  test('M4, X10: servers counts what agents see, and names what the server lists that cannot be used', async () => {
    const path = join(place.folder, 'odd.json')
    const program = join(place.folder, 'odd.mjs')
    const add = { name: 'add', description: 'Adds', inputSchema: { type: 'object' } }
    writeFileSync(program, LISTING)
    writeFileSync(
      path,
      JSON.stringify([add, { ...add, name: 'hidden' }, { ...add, name: 'odd', inputSchema: 'none' }]),
    )
    await run('add', 'odd', '--', 'node', program, path)
    writeFileSync(
      join(place.folder, 'user/config/mcp_registry.yaml'),
      `${file()}    tools: {exclude: [hidden]}\n`,
    )
    expect(await run('run', 'odd.add')).toContain('done')
    const lines = await run('servers')
    expect(lines).toMatch(/odd .* 1 +ready/)
    expect(lines).toContain('odd: "odd" cannot be used: its input schema is no object')
    expect(await run('run', 'odd.odd')).toContain('as "odd" lists it: its input schema is no object')
  })

  test('M4: definitions that are odd in any part are shown, and lose no other', async () => {
    const path = join(place.folder, 'odd.json')
    const program = join(place.folder, 'odd.mjs')
    writeFileSync(program, LISTING)
    const odd = [
      { name: 'said', description: 5, inputSchema: { type: 'object' } },
      { name: 'must', inputSchema: { type: 'object', properties: { a: { type: 'string' } }, required: 'a' } },
      { name: 'list', inputSchema: { type: 'object', properties: [] } },
      { name: 'part', inputSchema: { type: 'object', properties: { a: 5, b: { type: 'integer' } } } },
      { name: 'n'.repeat(129), inputSchema: { type: 'object' } },
    ]
    writeFileSync(path, JSON.stringify(odd))
    await run('add', 'odd', '--', 'node', program, path)
    const lines = await run('load', 'odd', '--type', 'mcp')
    for (const name of ['said', 'must', 'list', 'part']) {
      expect(lines).toContain(`  ${name}`)
      const { stdout, code } = await kiwi(place, ['load', `odd.${name}`])
      expect([name, code, stdout]).toEqual([name, 0, expect.stringContaining(`odd.${name} 1.0.0`)])
    }
    expect(await run('load', 'odd.part')).toMatch(/\n +b +integer\n/)
    expect(await run('servers')).toContain('cannot be used: its name is longer than 128 characters')
  })

  test('X2: what is shipped is not shown whole, and that is said at once', async () => {
    const said = await run('serve', '--passthrough', 'git')
    expect(said).toContain('Cannot pass on to "git": ')
  })

  test('X2, M8: one that is switched off is not shown whole, and how it is switched on is said', async () => {
    await run('add', 'memory', '--', 'node', MEMORY)
    writeFileSync(join(place.folder, 'user/config/mcp_registry.yaml'), `${file()}    enabled: false\n`)
    const { code, stderr } = await kiwi(place, ['stdio', '--passthrough', 'memory'])
    expect([code === 0, stderr]).toEqual([
      false,
      expect.stringContaining('Cannot pass on to "memory": it is switched off'),
    ])
    expect(stderr).toContain('kiwi add memory')
    expect(await run('run', 'memory.read_graph')).toContain('the server "memory" is switched off')
    expect(await run('add', 'memory')).toContain('Changed "memory"')
    expect(await run('run', 'memory.read_graph')).toContain('entities')
  })

  test('M8: doctor says what a server needs, and the command for it', async () => {
    await run('add', 'supabase')
    await run('add', 'gone', '--', 'no-such-program-here')
    await run('add', 'old', '--', 'node', '@anthropic/mcp-github@1')
    const needs = await run('doctor')
    expect(needs).toContain('"mcp_supabase": it asks for SUPABASE_ACCESS_TOKEN without a grant')
    expect(needs).toContain('kiwi grant mcp_supabase SUPABASE_ACCESS_TOKEN')
    expect(needs).toContain(
      'Cannot start the server "gone": its command "no-such-program-here" is not on the PATH',
    )
    expect(needs).toContain('or correct "command" in ')
    expect(needs).toContain('called @modelcontextprotocol/server-github now')
    await run('grant', 'mcp_supabase', 'SUPABASE_ACCESS_TOKEN', '--yes')
    expect(await run('servers')).toContain('kiwi secret set SUPABASE_ACCESS_TOKEN')
  })

  test('M8: doctor with a name is about that one server, which is asked what it has unless that is known', async () => {
    await run('add', 'memory', '--', 'node', MEMORY)
    await run('add', 'gone', '--', 'no-such-program-here')
    expect(await run('doctor', 'memory')).toMatch(/^ok +server +memory, stdio: 9 tools\n$/)
    expect(await run('doctor', 'mcp_gone')).toMatch(
      /^warn +server +Cannot start the server "gone": .*\n +> Install no-such-program-here, or correct .*\n$/,
    )
    const unknown = await kiwi(place, ['doctor', 'nobody'])
    expect([unknown.code, unknown.stderr]).toEqual([
      3,
      expect.stringContaining('Cannot find the server "nobody"'),
    ])
  })

  test('M8: servers and doctor show faults of the file with their place, and all that a server lacks', async () => {
    const path = join(place.folder, 'user/config/mcp_registry.yaml')
    mkdirSync(join(place.folder, 'user/config'), { recursive: true })
    writeFileSync(
      path,
      'mcps:\n  bad:\n    url: notaurl\n  good: {command: node, args: ["${A_KEY}"], env: {B: "${B_KEY}"}}\n',
    )
    const shown = await kiwi(place, ['servers'])
    expect(shown.code).not.toBe(0)
    const fault = `Cannot use "${path}:3:5": "bad.url" is no address that can be used`
    expect(shown.stderr).toContain(fault)
    const fix =
      'kiwi secret set A_KEY, then kiwi secret set B_KEY, then: A person has to run: kiwi grant mcp_good A_KEY B_KEY'
    expect(shown.stderr).toContain(fix)
    const doctor = await run('doctor')
    expect(doctor).toContain(fault)
    expect(doctor).toContain(fix)
    expect(doctor).not.toMatch(/remove .*mcp_registry/)
    writeFileSync(path, 'mcps:\n  bad: [\n')
    const broken = await kiwi(place, ['servers'])
    expect(broken.code).not.toBe(0)
    expect(broken.stderr).toContain(`Cannot use "${path}:`)
    expect(broken.stderr).not.toContain('No server yet')
  })

  test.each([
    [['add', '--', 'npx', 'x'], 'Cannot add "npx": its name does not stand before --'],
    [['add', '--env', 'A=b', '--', 'npx'], 'Cannot add "npx": its name does not stand before --'],
    [['add', 'x', 'https://x.example/mcp', '--', 'npx'], 'Cannot add "x": it has an address and a command'],
    [['add', 'x', 'https://x.example/mcp', '--env', 'A=b'], 'Cannot add "x": --env is for a command'],
    [['add', 'x', '--header', 'A=b', '--', 'npx'], 'Cannot add "x": --header is for an address'],
    [['add', 'x', '--transport', 'sse', '--', 'npx'], 'Cannot add "x": --transport is for an address'],
  ])('M1: what could not be used is refused before anything is written: %j', async (args, said) => {
    expect(await run(...args)).toContain(said)
    expect(await run('servers')).toContain('No server yet')
  })

  test('M1: a word that is no address is no command either, unless it stands behind --', async () => {
    for (const word of ['ftp://x', 'notaurl', 'https://user:pw@ex.com/mcp'])
      expect(await run('add', 'x', word)).toContain('INVALID_PARAMETERS Cannot add "x": its "url"')
    expect(await run('add', 'x', 'node', 'y.js')).toContain('kiwi add x -- node …')
    expect(await run('servers')).toContain('No server yet')
    await run('add', 'events', 'https://ex.com/v1/sse?a=b')
    await run('add', 'plain', 'https://ex.com/sse', '--transport', 'http')
    expect(file()).toMatch(/events:\n +type: sse\n[^]*plain:\n +type: http\n/)
  })

  test('M6: of a name that is ours the next command says how it is called', async () => {
    expect(await run('add', 'filesystem', '--', 'node', MEMORY)).toContain(
      'Next: kiwi load mcp_filesystem --type mcp',
    )
    expect(await run('load', 'mcp_filesystem', '--type', 'mcp')).toContain('read_graph')
  })

  test('M5, M8: of a server that ends at its start the person reads what it wrote, and nobody is told to repeat it', async () => {
    await run('add', 'broken', '--', process.execPath, '-e', 'require("/no/such/module")')
    const said = await run('run', 'broken.echo')
    expect(said).toContain(
      `Cannot start "broken": it ended with code 1: Error: Cannot find module '/no/such/module'`,
    )
    expect(said).toContain('kiwi doctor broken says what it needs')
    expect(said).toMatch(/it wrote:\n(?: {4}.*\n)* {4}Error: Cannot find module/)
    expect(said).not.toContain('Send the call again')
  })

  test('M1: kiwi import knows the config of a client by its name', async () => {
    mkdirSync(join(place.folder, '.cursor'), { recursive: true })
    const path = join(place.folder, '.cursor/mcp.json')
    const server = { command: 'node', args: ['x'], env: { API_KEY: CANARY } }
    writeFileSync(path, JSON.stringify({ mcpServers: { a: server, kiwi: { command: 'kiwi' } } }))
    expect(await run('import', path, '--dry-run')).toContain('Nothing was written')
    expect(await run('import', 'cursor', '--dry-run')).toMatch(/imported +a /)
    const none = await run('import', 'mcp', 'gemini')
    expect(none).toContain('No servers were found')
    expect(none).toContain('.gemini/settings.json')
    expect(none).not.toContain('.cursor')
    expect(await run('import', 'mcp', 'cursors')).toMatch(/no such file[^]*codex/)
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
