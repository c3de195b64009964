import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { TempServers } from '../fixtures/temp-servers.ts'
import { openTempServers } from '../fixtures/temp-servers.ts'

let bed: TempServers
beforeEach(async () => {
  bed = await openTempServers()
})
afterEach(() => bed.temp.close())

describe('M1: configs as newer versions of clients write them', () => {
  test('M1: opencode keeps servers in .opencode too, under servers, with several times for each', async () => {
    const path = bed.put(
      'project/.opencode/opencode.jsonc',
      `{
        "mcp": {
          "timeout": {"startup": 30000, "execution": 120000},
          "servers": {
            "a": {"type": "local", "command": ["npx", "-y", "a"], "cwd": ".", "disabled": true},
            "b": {"type": "remote", "url": "https://x.example/mcp", "timeout": {"startup": 5000, "catalog": 1000}},
          },
        },
      }`,
    )
    const { data } = await bed.take()
    expect(await bed.servers()).toEqual({
      a: {
        command: 'npx',
        args: ['-y', 'a'],
        cwd: bed.temp.project,
        startup_timeout: 30,
        timeout: 120,
        enabled: false,
      },
      b: { type: 'http', url: 'https://x.example/mcp', startup_timeout: 5, timeout: 120 },
    })
    expect(data).toMatchObject({
      servers: [{ notes: [] }, { from: path, notes: ['left out: timeout.catalog'] }],
    })
  })

  test('M1: what GitHub Copilot shares with VS Code is found, with the tools it names', async () => {
    bed.put('.copilot/mcp-config.json', {
      mcpServers: {
        all: { type: 'local', command: 'a', args: [], tools: ['*'] },
        some: { type: 'http', url: 'https://x.example/mcp', tools: ['read', 'list'] },
        none: { type: 'local', command: 'c', args: [], tools: [] },
      },
    })
    await bed.take()
    expect(await bed.servers()).toEqual({
      all: { command: 'a', args: [] },
      some: { type: 'http', url: 'https://x.example/mcp', tools: { include: ['read', 'list'] } },
      none: { command: 'c', args: [], tools: { include: [] } },
    })
  })

  test('M1: a login that only says what it must be good for is taken over', async () => {
    const url = 'https://x.example/mcp'
    await bed.take([
      bed.put('.mcp.json', { mcpServers: { a: { type: 'http', url, oauth: { scopes: 'read write' } } } }),
    ])
    expect(await bed.servers()).toEqual({
      a: { type: 'http', url, auth: { type: 'oauth', scopes: 'read write' } },
    })
  })

  test('M1: a file that only opencode reads is kept as the text that stands there, and told', async () => {
    const { data } = await bed.take([
      bed.put('opencode.json', {
        mcp: { a: { type: 'local', command: ['a'], environment: { K: 'x {file:~/.key} {env:B}' } } },
      }),
    ])
    expect(await bed.servers()).toEqual({ a: { command: 'a', args: [], env: { K: 'x {file:~/.key} ${B}' } } })
    expect(data).toMatchObject({
      servers: [{ notes: ['{file:~/.key} is nothing that Kiwi knows: kept as text'] }],
    })
  })

  test('M1: a config that is a link to where a person keeps it is read, one that leads out of a project is not', async () => {
    const { folder, project } = bed.temp
    const kept = bed.put('dotfiles/cursor.json', { mcpServers: { mine: { command: './a', cwd: 'b' } } })
    mkdirSync(join(folder, '.cursor'))
    symlinkSync(kept, join(folder, '.cursor/mcp.json'))
    symlinkSync(kept, join(project, '.mcp.json'))
    const { data } = await bed.take()
    expect(data).toMatchObject({
      servers: [{ name: 'mine', state: 'imported', from: join(folder, '.cursor/mcp.json') }],
      not_imported: [{ path: join(project, '.mcp.json'), reason: expect.stringContaining('leads out') }],
    })
    // Paths in it start from where the client finds it.
    expect(await bed.servers()).toMatchObject({ mine: { cwd: join(folder, 'b') } })
    symlinkSync(join(folder, 'nowhere'), join(folder, 'gone.json'))
    expect((await bed.take([join(folder, 'gone.json')])).error?.message).toContain('gone.json')
  })

  test('M1: what only has kiwi in its name, its address or its arguments is no Kiwi', async () => {
    const node = (...args: readonly string[]): unknown => ({ command: 'node', args })
    const mcpServers = {
      kiwi: { url: 'https://mcp.kiwi.example' },
      files: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem', '/home/ada/kiwi'] },
      birds: node('/opt/birds/dist/cli.js', 'kiwi'),
    }
    const { data } = await bed.take([bed.put('.mcp.json', { mcpServers })])
    expect(data).toMatchObject({
      servers: Object.keys(mcpServers).map((name) => ({ name, state: 'imported', reason: null })),
    })
    for (const [name, entry] of Object.entries({
      kiwi: { url: 'http://127.0.0.1:7717/mcp' },
      'kiwi-mcp': node('/src/of-mine/dist/cli.js'),
      a: { command: '/usr/local/bin/kiwi' },
      b: node('/usr/local/bin/kiwi', 'stdio'),
      c: { command: 'npx', args: ['-y', 'kiwi-mcp@1.2.0'] },
      d: node('/x/kiwi-mcp/dist/cli.js'),
    })) {
      const reply = await bed.take([bed.put('.mcp.json', { mcpServers: { [name]: entry } })])
      expect(reply.data).toMatchObject({ servers: [{ name, reason: 'it is Kiwi itself' }] })
    }
  })

  test('M1: a config is known by the folder that it is for', async () => {
    await bed.take([
      bed.put('work/.opencode/opencode.json', { mcp: { a: { type: 'local', command: ['./a'] } } }),
    ])
    expect(await bed.servers()).toEqual({ a: { command: join(bed.temp.folder, 'work/a'), args: [] } })
  })
})
