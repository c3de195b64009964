import { expect, test } from 'vitest'
import { LIMITS } from '../shared/limits.ts'
import type { MessageFault } from './read-message.ts'
import { strictLines } from './strict-lines.ts'

/** What comes out of these pieces of input: messages, and the faults of lines that are none. */
function through(...pieces: readonly (string | Buffer)[]): {
  passed: readonly string[]
  faults: readonly MessageFault[]
} {
  const faults: MessageFault[] = []
  const passed: string[] = []
  const read = strictLines(
    (value) => {
      passed.push(JSON.stringify(value))
      return null
    },
    (fault) => faults.push(fault),
  )
  for (const piece of pieces) read(Buffer.from(piece))
  return { passed, faults }
}

const message = (id: number, text = ''): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method: 'ping', params: { text } })

test('good lines pass as they are, however the input is cut', () => {
  const text = `${message(1, 'é')}\n${message(2)}\r\n`
  const expected = { passed: [message(1, 'é'), message(2)], faults: [] }
  expect(through(text)).toEqual(expected)
  expect(through(...Array.from(Buffer.from(text), (byte) => Buffer.from([byte])))).toEqual(expected)
})

test('HTTP-13: a line that two readers would read differently is refused, and the next one passes', () => {
  expect(through(`{"a":1,"a":2}\nnot JSON\n${message(1)}\n`)).toEqual({
    passed: [message(1)],
    faults: [
      { code: -32_600, message: expect.stringContaining('twice') },
      { code: -32_700, message: expect.stringContaining('JSON') },
    ],
  })
})

test('a line of several messages is none, and what is done with a message may find a fault in it', () => {
  expect(through(`[${message(4)}]\n`)).toEqual({
    passed: [],
    faults: [{ code: -32_600, message: 'Send one message a line' }],
  })
  const faults: MessageFault[] = []
  const fault = { id: 1, code: -1, message: 'no' }
  strictLines(
    () => fault,
    (told) => faults.push(told),
  )(Buffer.from(`${message(1)}\n`))
  expect(faults).toEqual([fault])
})

test('blank lines say nothing, and a line without an end is none', () => {
  const blank = ' '.repeat(1000)
  expect(through(`\n \r\n${blank}\n${message(1)}\n\n${message(2)}`)).toEqual({
    passed: [message(1)],
    faults: [],
  })
})

test('a line over the limit is refused once, under its id wherever that stands, and the next one passes', () => {
  const text = 'x'.repeat(LIMITS.lineBytes)
  const first = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"id":1,"text":"${text}"}}`
  const last = `{"method":"tools/call","params":{"id":1,"text":"${text}"},"jsonrpc":"2.0","id":"last"}`
  const inner = `{"method":"tools/call","params":{"text":"${text}","id":1}}`
  const { passed, faults } = through(...[first, last, inner, message(1)].map((line) => `${line}\n`))
  expect(passed).toEqual([message(1)])
  expect(faults.map(({ id, message: reason }) => [id, reason])).toEqual(
    [7, 'last', undefined].map((id) => [id, expect.stringContaining('larger')]),
  )
  for (const id of ['007', '"a\tb"', '1e5']) {
    const odd = `{"jsonrpc":"2.0","id":${id},"method":"x","params":{"text":"${text}"}}\n${message(1)}\n`
    expect(through(odd)).toMatchObject({ passed: [message(1)], faults: [{ id: undefined }] })
  }
  expect(through(`{"id":"é","method":"${text}\n`)).toMatchObject({ faults: [{ id: 'é' }] })
  expect(through('{"jsonrpc":"2.0",', `"id":8,"x":"${text}\n`)).toMatchObject({ faults: [{ id: 8 }] })
  const cut = first.match(/[^]{1,65536}/g) ?? []
  expect(through(...cut, '\n')).toMatchObject({ passed: [], faults: [{ id: 7 }] })
})
