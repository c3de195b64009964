import { homedir } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { LoopbackServer, Received } from '../../test/fixtures/loopback-server.ts'
import { openLoopbackServer, reply } from '../../test/fixtures/loopback-server.ts'
import type { JsonObject } from '../shared/json.ts'
import type { TempChain } from '../../test/fixtures/temp-chain.ts'
import { openTempChain } from '../../test/fixtures/temp-chain.ts'

const CANARY = 'kiwi-canary-0123456789'
let temp: TempChain
let server: LoopbackServer

beforeAll(async () => {
  server = await openLoopbackServer((request) =>
    request.path.startsWith('/echo') ? echo(request, request.path === '/echo' ? 200 : 400) : dribble(request),
  )
  temp = await openTempChain({ environment: { CANARY }, allowHosts: [server.host] })
})
afterAll(async () => {
  await temp.close()
  await server.close()
})

/** Tells everything it was told, in the body, in a key and in a header. */
function echo(request: Received, status: number): void {
  reply(request, status, JSON.stringify({ got: request.headers, [`key ${CANARY}`]: 1 }), {
    'content-type': 'application/json',
    'x-echo': request.headers['authorization'] ?? request.headers['x-api-key'] ?? '',
  })
}

/** An answer in small pieces, the secret in several of them; as plain text, or as events of a stream. */
async function dribble({ socket, path }: Received): Promise<void> {
  const isEvents = path === '/events'
  const type = isEvents ? 'text/event-stream' : 'text/plain'
  socket.write(`HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\nconnection: close\r\n\r\n`)
  const text = isEvents ? `data: a ${CANARY} b\n\ndata: end\n\n` : `a ${CANARY} b`
  for (let at = 0; at < text.length; at += 5) {
    socket.write(text.slice(at, at + 5))
    await delay(2)
  }
  socket.end()
}

const bash = (id: string, text: string, more: JsonObject = {}): void =>
  temp.tool(id, { tool_type: 'script', executor: 'bash_runtime', ...more }, { 'main.sh': text })
async function grant(id: string): Promise<void> {
  const { digest, secrets } = await temp.plan(id)
  temp.grants.push({ tool: id, hash: digest, names: [...secrets] })
}

describe('RED-01: a granted secret is taken out of whatever comes back', () => {
  const shown = async (work: Promise<unknown>): Promise<string> => {
    const result = await work.catch((error: unknown) => error)
    return JSON.stringify([result, result instanceof Error ? result.message : ''])
  }

  test('standard output and standard error, as they are and in disguise', async () => {
    const text =
      'echo "out $KEY"; printf %s "$KEY" | base64; printf %s "$KEY" | od -An -tx1 | tr -d " \\n"; echo "err $KEY" >&2'
    bash('leaks', text, { secrets: ['CANARY'], config: { env: { KEY: '${CANARY}' } } })
    await grant('leaks')
    const { data } = await temp.run('leaks')
    expect(data['output']).toContain('out [REDACTED:CANARY]\n')
    expect(data['stderr']).toBe('err [REDACTED:CANARY]\n')
    for (const look of [
      CANARY,
      Buffer.from(CANARY).toString('base64'),
      Buffer.from(CANARY).toString('hex'),
    ]) {
      expect(JSON.stringify(data)).not.toContain(look)
    }
  })

  test('X7: written piece by piece, on both outputs and in an answer that comes in pieces', async () => {
    const text =
      'for at in 0 7 14 21; do printf %s "${KEY:$at:7}"; printf %s "${KEY:$at:7}" >&2; sleep 0.03; done'
    bash('dribbles', text, { secrets: ['CANARY'], config: { env: { KEY: '${CANARY}' } } })
    await grant('dribbles')
    expect((await temp.run('dribbles')).data).toMatchObject({
      output: '[REDACTED:CANARY]',
      stderr: '[REDACTED:CANARY]',
    })
    for (const path of ['chunks', 'events']) {
      temp.tool('reads_pieces', {
        tool_type: 'api',
        config: { url: `${server.url}/${path}`, headers: { 'x-key': '${CANARY}' } },
      })
      await grant('reads_pieces')
      const result = await shown(temp.run('reads_pieces'))
      expect(result).toContain('a [REDACTED:CANARY] b')
      expect(result).not.toContain('kiwi-canary')
    }
  })

  test('X7: cut in the middle, where the output is over its limit', async () => {
    const config = { env: { KEY: '${CANARY}' }, max_output_bytes: 20 }
    bash('overflows', 'printf "before %s and more" "$KEY"; printf "%s" "$KEY$KEY" >&2', {
      secrets: ['CANARY'],
      config,
    })
    await grant('overflows')
    const { data } = await temp.run('overflows')
    expect(data).toMatchObject({ output: 'before [REDACTED:CANARY]', truncated: true })
    expect(data['stderr']).toBe('[REDACTED:CANARY]')
  })

  test('JSON output stays JSON', async () => {
    bash('leaks_json', `echo "{\\"key\\":\\"$KEY\\"}"`, {
      secrets: ['CANARY'],
      config: { env: { KEY: '${CANARY}' } },
    })
    await grant('leaks_json')
    expect((await temp.run('leaks_json')).data['output']).toEqual({ key: '[REDACTED:CANARY]' })
  })

  test('the error of a program that fails', async () => {
    bash('fails_loudly', 'echo "bad key $KEY" >&2; exit 1', {
      secrets: ['CANARY'],
      config: { env: { KEY: '${CANARY}' } },
    })
    await grant('fails_loudly')
    const error = await shown(temp.run('fails_loudly'))
    expect(error).toContain('it ended with code 1: bad key [REDACTED:CANARY]')
    expect(error).not.toContain(CANARY)
  })

  test('a folder that was made of it', async () => {
    bash('leaks_folder', 'echo', { secrets: ['CANARY'], config: { cwd: '/no/${CANARY}' } })
    await grant('leaks_folder')
    expect(await shown(temp.run('leaks_folder'))).not.toContain(CANARY)
  })

  test('N1: every variable of an environment that was inherited, unless all children see it', async () => {
    bash('inherits', 'echo "$CANARY $HOME"', { config: { inherit_env: true } })
    await expect(temp.run('inherits')).rejects.toMatchObject({ code: 'SECRET_NOT_GRANTED' })
    const { digest } = await temp.plan('inherits')
    temp.grants.push({ tool: 'inherits', hash: digest, names: ['*'] })
    expect((await temp.run('inherits')).data['output']).toBe(`[REDACTED:CANARY] ${homedir()}\n`)
  })

  test('P7: an echo of the request, in body and headers, on success and on failure', async () => {
    const kinds: readonly JsonObject[] = [
      { type: 'bearer', token: '${CANARY}' },
      { type: 'basic', username: 'ada', password: '${CANARY}' },
      { type: 'api_key', key: '${CANARY}' },
    ]
    for (const auth of kinds) {
      for (const path of ['echo', 'echo-fails']) {
        temp.tool('echoes', {
          tool_type: 'api',
          config: { url: `${server.url}/${path}`, auth },
          secrets: ['CANARY'],
        })
        await grant('echoes')
        const result = await shown(temp.run('echoes'))
        expect(result).toContain('[REDACTED:')
        expect(result).not.toContain(CANARY)
        expect(result).not.toContain(Buffer.from(`ada:${CANARY}`).toString('base64'))
      }
    }
    expect(server.received.at(-1)?.headers['x-api-key']).toBe(CANARY)
  })
})
