import { expect, test } from 'vitest'
import { sampleRecord } from '../../test/fixtures/store-samples.ts'
import type { JournalRecord, NewRecord } from '../store/journal.ts'
import { recordLine, recordTable, sessionTree } from './audit-lines.ts'

let seq = 0
const record = (call: string, given: Partial<NewRecord> = {}): JournalRecord => ({
  ...sampleRecord(call, given),
  seq: (seq += 1),
  prev: 'p',
  hash: 'h',
})

test('H11: the calls of a sub-session stand below its parent, however they came', () => {
  const tree = sessionTree([
    record('1', { session: 'root', tool: 'first' }),
    record('2', { session: 'child', parent_session: 'root', tool: 'second', body: { directive: 'deploy' } }),
    record('3', { session: 'root', tool: 'third' }),
    record('4', { session: 'grandchild', parent_session: 'child', tool: 'fourth' }),
  ])
  const lines = tree.split('\n').filter((line) => !line.includes('seq'))
  const depth = (text: string): number => lines.find((line) => line.includes(text))?.search(/\S/) ?? -1
  expect([depth('root'), depth('third'), depth('child'), depth('second'), depth('fourth')]).toEqual([
    0, 2, 2, 4, 6,
  ])
  expect(lines.map((line) => line.trim().split(' ')[0])).toEqual([
    'root',
    ...[lines[1], lines[2]].map((line) => line?.trim().split(' ')[0]),
    'child',
    expect.any(String),
    'grandchild',
    expect.any(String),
  ])
  expect(lines.find((line) => line.includes('child'))).toContain('deploy')
})

test('H11: a session that is said to come from itself is shown once', () => {
  const tree = sessionTree([record('1', { session: 'turns', parent_session: 'turns' })])
  expect(tree.match(/^turns/gm)).toHaveLength(1)
})

test('AUD-05: nothing in a record writes on the terminal', () => {
  const odd = record('x', { session: '\u001B[2Jroot', tool: 'a\nb\u2028c', status: '\u009B' })
  for (const text of [recordTable([odd]), recordLine(odd), sessionTree([odd])])
    expect(text).toMatch(/^[ -~\n]+$/)
  expect(recordLine(odd)).not.toContain('\n')
})

test('AUD-11: a record whose body is gone says so', () => {
  expect(recordLine(record('x', { body: {} }))).toMatch(/erased$/)
})

test('H9: what a person is asked, and what they refused, is shown with its approval', () => {
  const asked = record('x', { status: 'ask', body: { approval_id: 'ap-1' } })
  expect(recordLine(asked)).toMatch(/decision +ask .*ap-1$/)
})
