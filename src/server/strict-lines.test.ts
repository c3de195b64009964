import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { LIMITS } from '../shared/limits.ts'
import type { MessageFault } from './read-message.ts'
import { strictLines } from './strict-lines.ts'

/** What comes out of these pieces of input: lines that pass, and the faults of those that do not. */
async function through(
  ...pieces: readonly (string | Buffer)[]
): Promise<{ passed: readonly string[]; faults: readonly MessageFault[] }> {
  const faults: MessageFault[] = []
  const input = new PassThrough()
  const lines = input.pipe(strictLines((fault) => faults.push(fault)))
  for (const piece of pieces) input.write(piece)
  input.end()
  const passed: string[] = []
  for await (const line of lines) passed.push(String(line))
  return { passed, faults }
}

const message = (id: number, text = ''): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method: 'ping', params: { text } })

test('good lines pass as they are, however the input is cut', async () => {
  const text = `${message(1, 'é')}\n${message(2)}\r\n`
  const expected = { passed: [`${message(1, 'é')}\n`, `${message(2)}\r\n`], faults: [] }
  expect(await through(text)).toEqual(expected)
  expect(await through(...Array.from(Buffer.from(text), (byte) => Buffer.from([byte])))).toEqual(expected)
})

test('answers and notifications pass', async () => {
  const lines = [
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { jsonrpc: '2.0', id: 1, result: {} },
    { jsonrpc: '2.0', id: 2, error: { code: -1, message: 'no' } },
  ].map((each) => `${JSON.stringify(each)}\n`)
  expect(await through(...lines)).toEqual({ passed: lines, faults: [] })
})

test('HTTP-13: a line that two readers would read differently is refused, and the next one passes', async () => {
  expect(await through(`{"a":1,"a":2}\nnot JSON\n${message(1)}\n`)).toEqual({
    passed: [`${message(1)}\n`],
    faults: [
      { code: -32_600, message: expect.stringContaining('twice') },
      { code: -32_700, message: expect.stringContaining('JSON') },
    ],
  })
})

test('what is no message is answered under its id, so that nobody waits for it', async () => {
  const lines = [
    '{"jsonrpc":"2.0","id":"q1"}',
    '{"jsonrpc":"2.0","id":2,"method":5}',
    '{"id":3,"method":"ping"}',
    '{"jsonrpc":"2.0","id":5,"method":"ping","params":5}',
    '{"jsonrpc":"2.0","id":6,"method":"ping","params":{"_meta":5}}',
    '{"jsonrpc":"2.0","id":null,"method":"ping"}',
    `[${message(4)}]`,
    '"text"',
  ]
  const { passed, faults } = await through(`${lines.join('\n')}\n`)
  expect(passed).toEqual([])
  expect(faults.map(({ id, code }) => [id, code])).toEqual([
    ['q1', -32_600],
    [2, -32_600],
    [3, -32_600],
    [5, -32_600],
    [6, -32_600],
    [undefined, -32_600],
    [undefined, -32_600],
    [undefined, -32_600],
  ])
})

test('blank lines say nothing, and a line without an end is none', async () => {
  const blank = ' '.repeat(1000)
  expect(await through(`\n \r\n${blank}\n${message(1)}\n\n${message(2)}`)).toEqual({
    passed: [`${message(1)}\n`],
    faults: [],
  })
})

test('a line over the limit is refused once, under its id wherever that stands, and the next one passes', async () => {
  const text = 'x'.repeat(LIMITS.lineBytes)
  const first = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"id":1,"text":"${text}"}}`
  const last = `{"method":"tools/call","params":{"id":1,"text":"${text}"},"jsonrpc":"2.0","id":"last"}`
  const inner = `{"method":"tools/call","params":{"text":"${text}","id":1}}`
  const { passed, faults } = await through(...[first, last, inner, message(1)].map((line) => `${line}\n`))
  expect(passed).toEqual([`${message(1)}\n`])
  expect(faults.map(({ id, message: reason }) => [id, reason])).toEqual(
    [7, 'last', undefined].map((id) => [id, expect.stringContaining('larger')]),
  )
  for (const id of ['007', '"a\tb"', '1e5']) {
    const odd = `{"jsonrpc":"2.0","id":${id},"method":"x","params":{"text":"${text}"}}\n${message(1)}\n`
    expect(await through(odd)).toMatchObject({ passed: [`${message(1)}\n`], faults: [{ id: undefined }] })
  }
  expect(await through(`{"id":"é","method":"${text}\n`)).toMatchObject({ faults: [{ id: 'é' }] })
  expect(await through('{"jsonrpc":"2.0",', `"id":8,"x":"${text}\n`)).toMatchObject({ faults: [{ id: 8 }] })
  const cut = first.match(/[^]{1,65536}/g) ?? []
  expect(await through(...cut, '\n')).toMatchObject({ passed: [], faults: [{ id: 7 }] })
})
