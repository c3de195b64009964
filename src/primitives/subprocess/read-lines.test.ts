import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { readLines } from './read-lines.ts'

const open = (maxLineBytes = 1000) => {
  const stream = new PassThrough()
  const state = { tooLong: 0 }
  const lines = readLines(stream, { maxLineBytes, onTooLong: () => void state.tooLong++ })
  return { stream, lines, state }
}

const collect = async (lines: AsyncIterable<string>): Promise<string[]> => {
  const all: string[] = []
  for await (const line of lines) all.push(line)
  return all
}

test('P13: lines are the same however the bytes are cut', async () => {
  const text = Array.from({ length: 200 }, (_, i) => `{"n":${i},"text":"${'ä€😀'.repeat(i % 5)}"}`)
  const bytes = Buffer.from(text.map((line) => `${line}\n`).join(''))
  for (const step of [1, 3, 64, 5000, bytes.length]) {
    const { stream, lines } = open()
    const collected = collect(lines)
    for (let at = 0; at < bytes.length; at += step) stream.write(bytes.subarray(at, at + step))
    stream.end()
    expect(await collected).toEqual(text)
  }
})

test('P13: empty lines are kept, a line without an end is not a message', async () => {
  const { stream, lines } = open()
  stream.end('a\n\nb\nhalf')
  expect(await collect(lines)).toEqual(['a', '', 'b'])
})

test('P13: a reader may leave and come back without losing a line', async () => {
  const { stream, lines } = open()
  stream.write('a\nb\n')
  for await (const line of lines) {
    expect(line).toBe('a')
    break
  }
  stream.end('c\n')
  expect(await collect(lines)).toEqual(['b', 'c'])
})

test('UP-04: a line over the limit ends the lines, with or without its end', async () => {
  for (const text of ['x'.repeat(101), `${'x'.repeat(101)}\n`]) {
    const { stream, lines, state } = open(100)
    stream.write('fine\n')
    stream.write(`${'x'.repeat(100)}\n`)
    stream.write(text)
    expect(await collect(lines)).toEqual(['fine', 'x'.repeat(100)])
    expect(state.tooLong).toBe(1)
    stream.destroy()
  }
})

test('P13: without a reader the stream is not read without end', async () => {
  const { stream, lines } = open()
  const line = `${'x'.repeat(999)}\n`
  let written = 0
  while (written < 10_000 && stream.write(line)) {
    written++
    if (written % 10 === 0) await new Promise(setImmediate)
  }
  expect(written).toBeLessThan(1000)
  stream.end()
  const collected = await collect(lines)
  expect(collected).toHaveLength(written + 1)
})

test('P13: nor are empty lines', async () => {
  const { stream, lines } = open()
  const chunk = '\n'.repeat(1000)
  let written = 0
  while (written < 1_000_000 && stream.write(chunk)) {
    written += chunk.length
    await new Promise(setImmediate)
  }
  // Newer Nodes keep four times as much in a stream.
  expect(written).toBeLessThan(250_000)
  stream.end()
  expect(await collect(lines)).toHaveLength(written + chunk.length)
})

test('P13: lines end when the writers are gone, even if somebody holds the pipe', async () => {
  const { stream, lines } = open()
  stream.write('last\n')
  lines.finish()
  expect(await collect(lines)).toEqual(['last'])
})

test('P13: after finish a slow reader still gets what is there', async () => {
  const { stream, lines } = open()
  for (let i = 0; i < 400; i++) stream.write(`${'x'.repeat(999)}\n`)
  await new Promise(setImmediate)
  lines.finish()
  await new Promise((resolve) => setTimeout(resolve, 600))
  expect(await collect(lines)).toHaveLength(400)
})

test('P13: dropped lines end the reading and keep the stream flowing', async () => {
  const { stream, lines } = open()
  stream.write('a\n')
  lines.drop()
  expect(await collect(lines)).toEqual([])
  for (let i = 0; i < 1000; i++) stream.write(`${'x'.repeat(999)}\n`)
  await new Promise((resolve) => stream.end(resolve))
})
