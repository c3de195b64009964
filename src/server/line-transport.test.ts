import { PassThrough } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/server'
import { expect, test } from 'vitest'
import { field } from '../../test/fixtures/field.ts'
import type { Shortcut } from './line-transport.ts'
import { lineTransport } from './line-transport.ts'

interface Ends {
  readonly input: PassThrough
  readonly output: PassThrough
  readonly transport: Transport
  readonly heard: JSONRPCMessage[]
  readonly isClosed: () => boolean
}

async function open(shortcut: Shortcut = () => false): Promise<Ends> {
  const [input, output, heard] = [new PassThrough(), new PassThrough(), [] as JSONRPCMessage[]]
  const transport = lineTransport(input, output, shortcut)
  let closed = 0
  Object.assign(transport, {
    onmessage: (message: JSONRPCMessage) => heard.push(message),
    onclose: () => (closed += 1),
  })
  await transport.start()
  return { input, output, transport, heard, isClosed: () => closed === 1 }
}

const written = (output: PassThrough): readonly unknown[] =>
  String(output.read() ?? '')
    .split('\n')
    .filter((line) => line !== '')
    .map((line): unknown => JSON.parse(line))

test('requests, answers and notifications are heard, and what is sent is one line', async () => {
  const { input, output, transport, heard } = await open()
  const messages = [
    { jsonrpc: '2.0', id: 1, method: 'ping', params: {} },
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { jsonrpc: '2.0', id: 1, result: {} },
    { jsonrpc: '2.0', id: 2, error: { code: -1, message: 'no' } },
  ]
  input.write(messages.map((each) => `${JSON.stringify(each)}\n`).join(''))
  await turn()
  expect(heard).toEqual(messages)
  await transport.send({ jsonrpc: '2.0', id: 1, result: { text: 'a\nb' } })
  expect(written(output)).toEqual([{ jsonrpc: '2.0', id: 1, result: { text: 'a\nb' } }])
})

test('what some readers of lines take for the end of one is escaped, and means the same', async () => {
  const { output, transport } = await open()
  const message = { jsonrpc: '2.0', id: 1, result: { text: 'a\u0085b\u2028c\u2029d' } } as const
  await transport.send(message)
  const line = String(output.read())
  expect(line).not.toMatch(/[\u0085\u2028\u2029]/)
  expect(JSON.parse(line)).toEqual(message)
})

test('what is no message is answered under its id, so that nobody waits for it', async () => {
  const { input, output, heard } = await open()
  const lines = [
    '{"jsonrpc":"2.0","id":"q1"}',
    '{"jsonrpc":"2.0","id":2,"method":5}',
    '{"id":3,"method":"ping"}',
    '{"jsonrpc":"2.0","id":5,"method":"ping","params":5}',
    '{"jsonrpc":"2.0","id":6,"method":"ping","params":{"_meta":5}}',
    '{"jsonrpc":"2.0","id":null,"method":"ping"}',
    '"text"',
  ]
  input.write(`${lines.join('\n')}\n`)
  await turn()
  expect(heard).toEqual([])
  expect(written(output)).toMatchObject(
    ['q1', 2, 3, 5, 6, null, null].map((id) => ({ jsonrpc: '2.0', id, error: { code: -32_600 } })),
  )
})

test.each(['ends', 'fails'])(
  'what is held back is heard when that %s, and what comes after it in order',
  async (end) => {
    let [done, fail] = [(): void => undefined, (): void => undefined]
    const ready = new Promise<void>((resolve, reject) => {
      done = resolve
      fail = () => reject(new Error('no'))
    })
    const { input, heard } = await open((message) => (field(message, 'id') === 1 ? ready : false))
    const messages = [1, 2, 3].map((id) => ({ jsonrpc: '2.0', id, method: 'ping', params: {} }))
    input.write(messages.map((each) => `${JSON.stringify(each)}\n`).join(''))
    await turn()
    expect(heard).toEqual([])
    if (end === 'ends') done()
    else fail()
    await turn()
    expect(heard).toEqual(messages)
    input.write(`${JSON.stringify({ ...messages[1], id: 4 })}\n`)
    await turn()
    expect(heard).toHaveLength(4)
  },
)

test('what the shortcut takes goes no further, and is answered by it', async () => {
  const { input, output, heard } = await open((message, answer) => {
    answer({ took: message })
    return true
  })
  input.write('{"jsonrpc":"2.0","id":1,"method":"x"}\n')
  await turn()
  expect(heard).toEqual([])
  expect(written(output)).toEqual([{ took: { jsonrpc: '2.0', id: 1, method: 'x' } }])
})

test('it closes once, with its input or its output', async () => {
  const ended = await open()
  ended.input.end()
  await turn()
  await turn()
  expect(ended.isClosed()).toBe(true)
  await ended.transport.close()
  expect(ended.isClosed()).toBe(true)
  const broken = await open()
  broken.output.destroy(new Error('EPIPE'))
  await turn()
  expect(broken.isClosed()).toBe(true)
})
