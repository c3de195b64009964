import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { openProgressLine } from './progress-line.ts'

function openScreen(isTTY: boolean): { stream: NodeJS.WriteStream; written: () => string } {
  let text = ''
  const stream = new Writable({
    write(chunk, _encoding, done) {
      text += String(chunk)
      done()
    },
  })
  const screen = Object.assign(stream, { isTTY, columns: 40 })
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the two properties that are looked at are given
  return { stream: screen as unknown as NodeJS.WriteStream, written: () => text }
}

test('R25: a terminal shows what a run is busy with, in one line that is gone at the end', () => {
  const { stream, written } = openScreen(true)
  const line = openProgressLine(true, stream)
  line.report({ message: 'installing 2 packages', seconds: 3.2 })
  expect(written()).toContain('installing 2 packages 3 s')
  expect(written()).not.toContain('\n')
  line.report({ message: 'evil\u001B[31m\nname', seconds: 4 })
  expect(written()).not.toContain('\u001B[31m')
  line.clear()
  expect(written().endsWith('\r\u001B[2K')).toBe(true)
})

test.each([
  [true, false],
  [false, true],
])('on a terminal: %s, for a person: %s: nothing is written', (isTTY, isWanted) => {
  const { stream, written } = openScreen(isTTY)
  const line = openProgressLine(isWanted, stream)
  line.report({ message: 'installing', seconds: 1 })
  line.clear()
  expect(written()).toBe('')
})
