import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { createFrameReader, encodeClose, encodeFrame, OPCODES } from './websocket-frames.ts'

/** A frame as a server sends it: no mask. */
const frame = (opcode: number, payload: Buffer | string, isFinal = true): Buffer => {
  const bytes = Buffer.from(payload)
  const { length } = bytes
  const first = (isFinal ? 0x80 : 0) | opcode
  if (length < 126) return Buffer.concat([Buffer.from([first, length]), bytes])
  const head = Buffer.alloc(length < 65_536 ? 4 : 10)
  head[0] = first
  head[1] = length < 65_536 ? 126 : 127
  if (length < 65_536) head.writeUInt16BE(length, 2)
  else head.writeBigUInt64BE(BigInt(length), 2)
  return Buffer.concat([head, bytes])
}

const read = (chunks: readonly Buffer[], maxBytes = 1_000_000): unknown[] => {
  const seen: unknown[] = []
  const push = createFrameReader(maxBytes, {
    message: (data) => seen.push(typeof data === 'string' ? data : [...data]),
    ping: (payload) => seen.push(`ping ${payload.toString()}`),
    close: (code, reason) => seen.push(`close ${code} ${reason}`),
  })
  for (const chunk of chunks) push(chunk)
  return seen
}

test('P12: text, binary, fragments and control frames between them are read', () => {
  const bytes = [
    frame(OPCODES.text, 'hello'),
    frame(OPCODES.binary, Buffer.from([1, 2])),
    frame(OPCODES.text, 'a', false),
    frame(OPCODES.ping, 'p'),
    frame(OPCODES.continuation, 'b', false),
    frame(OPCODES.pong, ''),
    frame(OPCODES.continuation, 'c'),
    frame(OPCODES.text, ''),
    frame(OPCODES.text, 'x'.repeat(70_000)),
    frame(OPCODES.close, Buffer.from([3, 232, 98, 121, 101])),
  ]
  const expected = ['hello', [1, 2], 'ping p', 'abc', '', 'x'.repeat(70_000), 'close 1000 bye']
  expect(read(bytes)).toEqual(expected)
  expect(read([Buffer.concat(bytes)])).toEqual(expected)
})

test('P12: any way of cutting the bytes gives the same messages', () => {
  const message = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 200 }),
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  )
  fc.assert(
    fc.property(
      fc.array(message, { maxLength: 8 }),
      fc.array(fc.nat(800), { maxLength: 10 }),
      (messages, cuts) => {
        const bytes = Buffer.concat(
          messages.map((one) => frame(typeof one === 'string' ? OPCODES.text : OPCODES.binary, one)),
        )
        const edges = [
          0,
          ...cuts.map((cut) => Math.min(cut, bytes.length)).toSorted((a, b) => a - b),
          bytes.length,
        ]
        const pieces = edges.slice(1).map((edge, i) => bytes.subarray(edges[i], edge))
        const expected = messages.map((one) => (typeof one === 'string' ? one : [...one]))
        expect(read(pieces)).toEqual(expected)
        expect(read([...bytes].map((byte) => Buffer.of(byte)))).toEqual(expected)
      },
    ),
  )
})

const FAULTS: readonly (readonly [string, number, readonly Buffer[]])[] = [
  ['a masked frame', 1002, [Buffer.from([0x81, 0x81, 0, 0, 0, 0, 97])]],
  ['a reserved bit', 1002, [Buffer.from([0xc1, 1, 97])]],
  ['an unknown opcode', 1002, [Buffer.from([0x83, 0])]],
  ['a fragmented ping', 1002, [frame(OPCODES.ping, '', false)]],
  ['a long ping', 1002, [frame(OPCODES.ping, 'x'.repeat(126))]],
  ['a continuation of nothing', 1002, [frame(OPCODES.continuation, 'x')]],
  ['a message inside a message', 1002, [frame(OPCODES.text, 'a', false), frame(OPCODES.text, 'b')]],
  ['a text that is no UTF-8', 1007, [frame(OPCODES.text, Buffer.from([0xff]))]],
  ['a close of one byte', 1002, [frame(OPCODES.close, 'x')]],
  ['a close code that must not be sent', 1002, [frame(OPCODES.close, Buffer.from([3, 237]))]],
  ['a close reason that is no UTF-8', 1007, [frame(OPCODES.close, Buffer.from([3, 232, 0xff]))]],
  ['a message over the limit', 1009, [frame(OPCODES.binary, Buffer.alloc(101))]],
  ['a length over the limit', 1009, [Buffer.from([0x82, 127, 0x7f, 255, 255, 255, 255, 255, 255, 255])]],
  [
    'fragments over the limit',
    1009,
    [frame(OPCODES.binary, Buffer.alloc(60), false), frame(OPCODES.continuation, Buffer.alloc(60))],
  ],
  [
    'crumbs without end',
    1009,
    [
      frame(OPCODES.text, '', false),
      ...Array.from({ length: 20_000 }, () => frame(OPCODES.continuation, '', false)),
    ],
  ],
]

test.each(FAULTS)('UP-14: %s is refused with %i', (_what, code, chunks) => {
  const failure = code === 1009 ? 'too_large' : 'protocol'
  expect(() => read(chunks, 100)).toThrow(expect.objectContaining({ details: { failure, close_code: code } }))
})

test('P12: frames go out masked, and are what was put in', () => {
  for (const length of [0, 1, 125, 126, 65_535, 65_536]) {
    const payload = Buffer.alloc(length, 'kiwi')
    const sent = encodeFrame(OPCODES.binary, payload)
    const size = (sent[1] ?? 0) & 0x7f
    const headBytes = size === 127 ? 10 : size === 126 ? 4 : 2
    const mask = sent.subarray(headBytes, headBytes + 4)
    const body = sent.subarray(headBytes + 4).map((byte, i) => byte ^ (mask[i % 4] ?? 0))
    expect((sent[1] ?? 0) & 0x80).toBe(0x80)
    expect(Buffer.from(body).equals(payload)).toBe(true)
    const unmasked = frame(OPCODES.binary, payload)
    expect(sent.subarray(2, headBytes)).toEqual(unmasked.subarray(2, headBytes))
  }
  expect(encodeClose(1000, 'x'.repeat(500)).length).toBe(2 + 4 + 125)
})
