import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/shared/clock.ts'
import { openSqliteStore } from '../../src/store/sqlite/open.ts'
import { writeAsking } from '../fixtures/asking.ts'
import { atTerminal } from '../fixtures/at-terminal.ts'
import { field, textField } from '../fixtures/field.ts'
import type { Place } from '../fixtures/place.ts'
import { makePlace } from '../fixtures/place.ts'
import { overStdio } from '../fixtures/stdio-client.ts'
import { CLI, kiwi, startServer } from './temp-server.ts'

let place: Place
let user: string
beforeEach(async () => {
  place = makePlace()
  user = join(place.folder, 'user')
  tool('careful', 'echo ran >> ran\necho done')
  writeAsking(user, ['careful'])
  await kiwi(place, ['trust', '--yes'])
})
afterEach(() => place.remove())

function tool(id: string, lines: string): void {
  const folder = join(place.project, '.ai/tools', id)
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    join(folder, 'tool.yaml'),
    'tool_type: script\nexecutor: bash_runtime\nversion: 1.0.0\ndescription: x\nparameters: [{name: a, type: string}]\n',
  )
  writeFileSync(join(folder, 'main.sh'), `#!/bin/bash\ncd "$KIWI_PROJECT_PATH"\n${lines}\n`)
}

function ran(): number {
  const file = join(place.project, 'ran')
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').length : 0
}

const RUN = {
  name: 'execute',
  arguments: { item_type: 'tool', action: 'run', item_id: 'careful', parameters: {} },
}
const key = (): string => join(user, 'kiwi.approver')

async function connect(capabilities: object = {}, mode: 'legacy' | 'auto' = 'legacy') {
  const negotiation = mode === 'legacy' ? {} : { versionNegotiation: { mode } }
  const client = new Client({ name: 'test', version: '1' }, { capabilities, ...negotiation })
  const transport = overStdio(place)
  return {
    client,
    transport,
    connected: () => client.connect(transport),
    run: async () => (await client.callTool(RUN)).structuredContent,
  }
}

test('H9: a call waits, is approved in another terminal after the server was killed, runs once and never again', async () => {
  const first = await connect()
  await first.connected()
  const waiting = await first.run()
  expect(waiting).toMatchObject({ status: 'approval_required' })
  const id = textField(waiting, 'data', 'approval_id')
  process.kill(first.transport.pid ?? 0, 'SIGKILL')
  await first.client.close()
  const { code, shown } = await atTerminal(place, ['approve', id], ['Type yes:', 'yes\n'])
  expect([code, shown]).toEqual([0, expect.stringContaining('Approved')])
  expect(shown).toMatch(/call {6}run careful@1\.0\.0[^]*asked by {2}layer/)
  expect(ran()).toBe(0)
  const second = await connect()
  await second.connected()
  expect(await second.run()).toMatchObject({ status: 'success', data: { output: 'done\n' } })
  expect(await second.run()).toMatchObject({ status: 'approval_required' })
  await second.client.close()
  expect(ran()).toBe(1)
  expect((await kiwi(place, ['approve', id, '--key', key()])).stderr).toContain('APPROVAL_USED')
}, 60_000)

test('APR-03: killed when the approval was used up, it ends unknown and never runs again by itself', async () => {
  tool('careful', 'echo ran >> ran\nsleep 30')
  const first = await connect()
  await first.connected()
  const id = textField(await first.run(), 'data', 'approval_id')
  expect(await kiwi(place, ['approve', id, '--key', key()])).toMatchObject({ code: 0 })
  const store = await openSqliteStore({ path: join(user, 'kiwi.db'), clock: systemClock })
  const ended = first.run().catch(() => 'cut off')
  await expect
    .poll(async () => (await store.approvals.list({ limit: 1, prefix: id }))[0]?.state, {
      timeout: 20_000,
      interval: 2,
    })
    .toBe('used')
  process.kill(first.transport.pid ?? 0, 'SIGKILL')
  expect(await ended).toBe('cut off')
  await first.client.close()
  const before = ran()
  expect(before).toBeLessThanOrEqual(1)
  const second = await connect()
  await second.connected()
  expect(await second.run()).toMatchObject({ status: 'approval_required' })
  await second.client.close()
  expect(ran()).toBe(before)
  const unknown = await store.journal.read({ limit: 9, status: 'unknown' })
  expect(unknown).toMatchObject([{ kind: 'outcome', tool: 'careful', body: { code: 'OUTCOME_UNKNOWN' } }])
  await store.close()
}, 60_000)

describe('the command line', () => {
  async function ask(): Promise<{ readonly id: string; readonly session: string }> {
    const { client, connected, run } = await connect()
    await connected()
    const id = textField(await run(), 'data', 'approval_id')
    await client.close()
    const [row] = JSON.parse((await kiwi(place, ['approvals', '--json'])).stdout)
    return { id, session: textField(row, 'session') }
  }

  test('APR-04: without a terminal or the key nobody answers, and a tool cannot start kiwi, with or without its environment', async () => {
    const { id } = await ask()
    const bare = await kiwi(place, ['approve', id], 'yes\n')
    expect(bare).toMatchObject({ code: 4, stderr: expect.stringContaining('no terminal') })
    writeFileSync(join(place.folder, 'wrong'), 'x'.repeat(43))
    for (const command of ['approve', 'deny']) {
      const wrong = await kiwi(place, [command, id, '--key', join(place.folder, 'wrong')])
      expect(wrong).toMatchObject({
        code: 4,
        stderr: expect.stringContaining("does not hold the approver's key"),
      })
    }
    const command = `"${process.execPath}" "${CLI}" approve ${id} --key "${key()}" 2>&1`
    tool('lifts', `${command}\nenv -i HOME="$HOME" PATH="$PATH" KIWI_USER_SPACE="${user}" ${command}\ntrue`)
    const { stdout } = await kiwi(place, ['run', 'lifts'])
    expect(stdout.match(/PERMISSION_DENIED Cannot start kiwi from a tool/g)).toHaveLength(2)
    expect((await kiwi(place, ['approvals'])).stdout).toContain(`${id}  pending`)
    expect(ran()).toBe(0)
  }, 60_000)

  test('R50: a session stands for its only open question, and the beginning of an id for the id', async () => {
    const { id, session } = await ask()
    const denied = await kiwi(place, ['deny', session, 'not', 'now', '--key', key()])
    expect(denied).toMatchObject({ code: 0, stdout: expect.stringContaining('Denied') })
    expect((await kiwi(place, ['approvals', id.slice(0, 6)])).stdout).toMatch(
      /rejected by user:\S+ \(key\): not now/,
    )
    expect((await kiwi(place, ['approvals', id.slice(0, 5)])).stderr).toContain('NOT_FOUND')
    expect((await kiwi(place, ['approvals'])).stderr).toContain('Nothing waits')
    expect((await kiwi(place, ['approvals', '--grants'])).stderr).toContain('Nothing is allowed for a whole')
    expect((await kiwi(place, ['approvals', '--all'])).stdout).toContain(id)
  }, 60_000)

  test('H9: of two who answer at once the first stands, and the other is told', async () => {
    const { id } = await ask()
    const ends = await Promise.all([
      kiwi(place, ['approve', id, '--key', key()]),
      kiwi(place, ['deny', id, '--key', key()]),
    ])
    expect(ends.filter(({ code }) => code === 0)).toHaveLength(1)
    expect(ends.find(({ code }) => code !== 0)?.stderr).toContain('CONFLICT')
  }, 60_000)

  test('H9: a call of a person at a terminal is answered right there; where nobody is, it waits', async () => {
    const { code, shown } = await atTerminal(place, ['run', 'careful'], ['yes or no:', 'yes\n'])
    expect([code, shown]).toEqual([0, expect.stringContaining('done')])
    const refused = await atTerminal(place, ['run', 'careful'], ['yes or no:', 'no\n'])
    expect([refused.code, refused.shown]).toEqual([4, expect.stringContaining('APPROVAL_REJECTED')])
    expect(ran()).toBe(1)
    const waits = await kiwi(place, ['run', 'careful', 'a=other'])
    expect(waits).toMatchObject({ code: 4, stdout: '', stderr: expect.stringContaining('kiwi approve') })
  }, 60_000)

  test('H9: what was used or is too old is refused before anything is shown or asked', async () => {
    const { id } = await ask()
    expect(await kiwi(place, ['approve', id, '--key', key()])).toMatchObject({ code: 0 })
    const again = await atTerminal(place, ['approve', id], ['Type yes:', 'yes\n'])
    expect([again.code, again.shown]).toEqual([4, expect.stringContaining('CONFLICT')])
    expect(again.shown).not.toMatch(/Type yes|call hash/)
    const { client, connected, run } = await connect()
    await connected()
    expect(await run()).toMatchObject({ status: 'success' })
    await client.close()
    const used = await atTerminal(place, ['approve', id], ['Type yes:', 'yes\n'])
    expect(used.shown).toContain('APPROVAL_USED')
    expect(used.shown).not.toMatch(/Type yes|call hash/)
  }, 60_000)

  test('H9: a no may become a yes at a terminal, as long as it has not expired', async () => {
    const { id } = await ask()
    expect(await kiwi(place, ['deny', id, '--key', key()])).toMatchObject({ code: 0 })
    const { code, shown } = await atTerminal(place, ['approve', id], ['Type yes:', 'yes\n'])
    expect([code, shown]).toEqual([0, expect.stringMatching(/rejected by[^]*Approved/)])
  }, 60_000)

  test('H9: with other arguments, what would have become of a file is not shown as what runs', async () => {
    writeFileSync(
      join(user, 'config/agent_harness.yaml'),
      'mode: direct\ninternal_tools: { filesystem: { require_approval: [write] } }\n',
    )
    const { stderr } = await kiwi(place, ['run', 'filesystem.write', 'path=a.txt', 'content=asked'])
    const id = /approval_required (\w+)/.exec(stderr)?.[1] ?? ''
    const params = JSON.stringify({ path: 'a.txt', content: 'given' })
    const args = ['approve', id, '--params', params]
    const { code, shown } = await atTerminal(place, args, ['Type yes:', 'yes\n'])
    expect([code, shown]).toEqual([0, expect.stringContaining(`instead   ${params}`)])
    expect(shown).not.toMatch(/^changes|\+asked/m)
  }, 60_000)

  test('H9: the link leads to the port that is given, and kiwi serve says which', async () => {
    const { shown } = await atTerminal(place, ['approvals', '--link', '--port', '7799'], ['no prompt', ''])
    expect(shown).toContain('http://127.0.0.1:7799/console#')
    const child = spawn(process.execPath, [CLI, 'serve', '--port', '0'], {
      cwd: place.project,
      env: place.env,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let text = ''
    for await (const chunk of child.stdout) if ((text += String(chunk)).includes('Ctrl-C')) break
    child.kill('SIGTERM')
    await once(child, 'close')
    const port = /listens on http:\/\/127\.0\.0\.1:(\d+)/.exec(text)?.[1]
    expect(text).toContain(`approvals --link --port ${port}\n`)
  }, 60_000)

  test('APR-10: there is no place a callback could be sent to', async () => {
    const { id } = await ask()
    const server = await startServer(place)
    try {
      const origin = new URL(server.url).origin
      for (const path of ['/approve', `/approvals/${id}`, '/callback', '/webhook']) {
        const body = JSON.stringify({ approval_id: id, decision: 'approve', state: 'approved' })
        const headers = { 'content-type': 'application/json', authorization: `Bearer ${server.token}` }
        expect((await fetch(`${origin}${path}`, { method: 'POST', body, headers })).status).toBe(404)
      }
    } finally {
      await server.stop()
      if (server.child.exitCode === null && server.child.signalCode === null)
        await once(server.child, 'close')
    }
    expect((await kiwi(place, ['approvals'])).stdout).toContain(`${id}  pending`)
  }, 60_000)
})

describe.each(['legacy', 'auto'] as const)('a client of the %s era that shows forms', (mode) => {
  const asked: unknown[] = []
  async function connected(answers: readonly object[]) {
    asked.length = 0
    const opened = await connect({ elicitation: {} }, mode)
    opened.client.setRequestHandler('elicitation/create', ({ params }) => {
      asked.push(params)
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each is an answer as the protocol has it
      return (answers[asked.length - 1] ?? { action: 'cancel' }) as { action: 'cancel' }
    })
    await opened.connected()
    return opened
  }

  test('H9: the person is asked within the call, and it runs', async () => {
    const { client, run } = await connected([
      { action: 'accept', content: { decision: 'once' } },
      { action: 'accept', content: { decision: 'run' } },
    ])
    expect(await run()).toMatchObject({ status: 'success' })
    expect(field(asked[0], 'message')).toContain('run careful@1.0.0')
    for (let at = 0; at < 2; at++) expect(await run()).toMatchObject({ status: 'success' })
    expect(asked).toHaveLength(2)
    await client.close()
    expect(ran()).toBe(3)
    const { stdout } = await kiwi(place, ['approvals', '--all', '--json'])
    expect(field(JSON.parse(stdout), 0, 'channel')).toBe('client')
    expect((await kiwi(place, ['approvals', '--grants'])).stdout).toContain('approved (session)')
  }, 60_000)

  test('H9: what a write would change is in the form, and what the file holds is not in the reply', async () => {
    const files = '{ enabled: true, allowed_paths: ["${PROJECT_PATH}"], require_approval: [write] }'
    writeFileSync(
      join(user, 'config/agent_harness.yaml'),
      `mode: direct\ninternal_tools: { filesystem: ${files} }\n`,
    )
    writeFileSync(join(place.project, 'a.txt'), 'old secret line\nsame\n')
    const { client } = await connected([{ action: 'cancel' }])
    const parameters = { path: 'a.txt', content: 'new line\nsame\n' }
    const reply = await client.callTool({
      name: 'execute',
      arguments: { ...RUN.arguments, item_id: 'filesystem.write', parameters },
    })
    await client.close()
    const message = String(field(asked[0], 'message'))
    expect(message).toContain('-old secret line\n+new line\n same')
    expect(reply.structuredContent).toMatchObject({ status: 'approval_required' })
    expect(JSON.stringify(reply)).not.toContain('old secret line')
    expect(message).toMatch(/^undo {6}can be undone/m)
    expect(message).not.toMatch(/^starts/m)
  }, 60_000)

  test('X7, H9: a secret that a file holds is not in the form, and one that stays is no change', async () => {
    const files = '{ enabled: true, allowed_paths: ["${PROJECT_PATH}"], require_approval: [write] }'
    writeFileSync(
      join(user, 'config/agent_harness.yaml'),
      `mode: direct\ninternal_tools: { filesystem: ${files} }\n`,
    )
    await kiwi(place, ['secret', 'set', 'FORM_KEY'], 'kiwi-canary/0123456789')
    writeFileSync(join(place.project, 'a.env'), 'KEY=kiwi-canary/0123456789\nB=2\n')
    const { client } = await connected([])
    const write = (content: string) =>
      client.callTool({
        name: 'execute',
        arguments: {
          ...RUN.arguments,
          item_id: 'filesystem.write',
          parameters: { path: 'a.env', content },
        },
      })
    await write('B=3\n')
    await write('KEY=kiwi-canary/0123456789\nB=3\n')
    await client.close()
    const [gone = '', kept = ''] = asked.map((form) => textField(form, 'message'))
    expect(gone).toContain('-KEY=[REDACTED:FORM_KEY]\n-B=2\n+B=3')
    expect(kept).toContain(' KEY=[REDACTED:FORM_KEY]\n-B=2\n+B=3')
    expect(gone + kept).not.toContain('canary')
  }, 60_000)

  test('H9: a decline never runs, a form that is closed leaves it open, and so does an answer that is none', async () => {
    const { client, run } = await connected([
      { action: 'cancel' },
      { action: 'accept', content: { decision: 'of course' } },
      { action: 'decline' },
    ])
    expect(await run()).toMatchObject({ status: 'approval_required' })
    expect(await run()).toMatchObject({ status: 'approval_required' })
    expect(await run()).toMatchObject({ error: { code: 'APPROVAL_REJECTED' } })
    expect(await run()).toMatchObject({ error: { code: 'APPROVAL_REJECTED' } })
    await client.close()
    expect(asked).toHaveLength(3)
    expect(ran()).toBe(0)
  }, 60_000)
})

test.each(['legacy', 'auto'] as const)(
  'H9: over HTTP, too, a client of the %s era is asked',
  async (mode) => {
    const server = await startServer(place)
    const negotiation = mode === 'legacy' ? {} : { versionNegotiation: { mode } }
    const client = new Client(
      { name: 'test', version: '1' },
      { capabilities: { elicitation: {} }, ...negotiation },
    )
    const asked: unknown[] = []
    client.setRequestHandler('elicitation/create', ({ params }) => {
      asked.push(params)
      return { action: 'accept', content: { decision: 'once' } }
    })
    const requestInit = { headers: { Authorization: `Bearer ${server.token}` } }
    await client.connect(new StreamableHTTPClientTransport(new URL(server.url), { requestInit }))
    try {
      expect((await client.callTool(RUN)).structuredContent).toMatchObject({ status: 'success' })
    } finally {
      await client.close()
      await server.stop()
    }
    expect(ran()).toBe(1)
    // Clients of the newer era have no session there, so that a yes could not be for the rest of theirs.
    const choices = mode === 'legacy' ? ['once', 'run', 'reject'] : ['once', 'reject']
    expect(field(asked[0], 'requestedSchema', 'properties', 'decision', 'enum')).toEqual(choices)
  },
  60_000,
)
