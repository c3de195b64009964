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

test('good lines pass as they are, however the input is cut', async () => {
  const text = '{"a":"\u00E9"}\n{"b":2}\r\n'
  const expected = { passed: ['{"a":"\u00E9"}\n', '{"b":2}\r\n'], faults: [] }
  expect(await through(text)).toEqual(expected)
  expect(await through(...Array.from(Buffer.from(text), (byte) => Buffer.from([byte])))).toEqual(expected)
})

test('HTTP-13: a line that two readers would read differently is refused, and the next one passes', async () => {
  expect(await through('{"a":1,"a":2}\nnot JSON\n{"b":1}\n')).toEqual({
    passed: ['{"b":1}\n'],
    faults: [
      { code: -32_600, message: expect.stringContaining('twice') },
      { code: -32_700, message: expect.stringContaining('JSON') },
    ],
  })
})

test('blank lines say nothing, and half a line at the end is no message', async () => {
  expect(await through('\n \r\n\n{"a":1}\n\n{"b"')).toEqual({ passed: ['{"a":1}\n'], faults: [] })
})

test('a line over the limit is refused once, without being kept, and the next one passes', async () => {
  const piece = 'x'.repeat(LIMITS.requestBytes / 2)
  expect(await through('"', piece, piece, piece, piece, '"\n{"a":1}\n')).toEqual({
    passed: ['{"a":1}\n'],
    faults: [{ code: -32_600, message: expect.stringContaining('larger') }],
  })
  expect(await through(`"${piece}${piece}"\n{"a":1}\n`)).toMatchObject({
    passed: ['{"a":1}\n'],
    faults: [{ code: -32_600 }],
  })
})
