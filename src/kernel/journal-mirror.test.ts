import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync } from 'node:fs'
import { symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { sampleRecord } from '../../test/fixtures/store-samples.ts'
import { createLog } from '../shared/log.ts'
import { systemClock } from '../shared/clock.ts'
import type { JsonObject } from '../shared/json.ts'
import type { JournalRecord } from '../store/journal.ts'
import type { Follower } from './follower.ts'
import { openMirror } from './journal-mirror.ts'

let project: string
let logged: string[]
let mirror: Follower
beforeEach(() => {
  project = realpathSync(mkdtempSync(join(tmpdir(), 'kiwi-mirror-')))
  mkdirSync(join(project, '.ai'))
  logged = []
  mirror = openMirror(
    createLog({ level: 'warn', clock: systemClock, write: (line) => void logged.push(line) }),
  )
})
afterEach(() => rmSync(project, { recursive: true, force: true }))

const record = (call: string, body: JsonObject = {}): JournalRecord => ({
  ...sampleRecord(call),
  body: { project, group: 'shell', ...body },
  seq: 1,
  prev: 'p',
  hash: 'h',
})
const file = (name = 'shell.jsonl'): string => join(project, '.ai/logs', name)
const lines = (name?: string): readonly string[] => readFileSync(file(name), 'utf8').trimEnd().split('\n')

test('H7: records go to the file of their group, each as one line, behind whoever wrote them', async () => {
  mirror.add([record('c1'), record('c2')])
  mirror.add([record('c3', { group: 'git' })])
  expect(existsSync(file())).toBe(false)
  await mirror.close()
  expect(lines().map((line) => JSON.parse(line).call_id)).toEqual(['c1', 'c2'])
  expect(lines('git.jsonl').map((line) => JSON.parse(line).call_id)).toEqual(['c3'])
  expect(statSync(file()).mode & 0o777).toBe(0o600)
})

test('AUD-05: nothing a record holds makes a second line', async () => {
  const tool = 'x\n{"seq":9}\u2028\u001B[2J|="\u0085'
  mirror.add([{ ...record('c1'), tool }])
  await mirror.close()
  expect(readFileSync(file(), 'utf8')).toMatch(/^[ -~]+\n$/)
  expect(JSON.parse(lines()[0] ?? '').tool).toBe(tool)
})

test('H7: what belongs to no project, or to one without .ai, is mirrored nowhere', async () => {
  rmSync(join(project, '.ai'), { recursive: true })
  mirror.add([record('c1'), { ...record('c2'), body: {} }, record('c3', { project: null })])
  await mirror.close()
  expect(existsSync(join(project, '.ai'))).toBe(false)
  expect(logged).toEqual([])
})

test('H7: a group is a name and never a path', async () => {
  mirror.add([record('c1', { group: '../../escaped' })])
  await mirror.close()
  expect(existsSync(join(project, 'escaped.jsonl'))).toBe(false)
})

test('FS-03: a folder or file that is a link is not written through, and is told of once', async () => {
  const outside = mkdtempSync(join(tmpdir(), 'kiwi-outside-'))
  symlinkSync(outside, join(project, '.ai/logs'))
  mirror.add([record('c1')])
  await mirror.close()
  expect(existsSync(join(outside, 'shell.jsonl'))).toBe(false)
  rmSync(join(project, '.ai/logs'))
  mkdirSync(join(project, '.ai/logs'))
  writeFileSync(join(outside, 'target'), '')
  symlinkSync(join(outside, 'target'), file())
  mirror.add([record('c2')])
  await mirror.close()
  expect(readFileSync(join(outside, 'target'), 'utf8')).toBe('')
  expect(logged).toHaveLength(1)
  rmSync(outside, { recursive: true })
})

test('FS-07: a pipe in its place is neither written to nor waited for', async () => {
  mkdirSync(join(project, '.ai/logs'))
  expect(spawnSync('mkfifo', [file()]).status).toBe(0)
  mirror.add([record('c1')])
  await mirror.close()
  expect(logged).toHaveLength(1)
})

test('H7: a full file is put aside once and a new one begun', async () => {
  mkdirSync(join(project, '.ai/logs'))
  writeFileSync(file(), '')
  truncateSync(file(), 10_000_000)
  mirror.add([record('c1')])
  await mirror.close()
  expect(existsSync(file())).toBe(false)
  expect(statSync(file('shell.jsonl.1')).size).toBeGreaterThan(10_000_000)
  mirror.add([record('c2')])
  await mirror.close()
  expect(lines()).toHaveLength(1)
})

test('H7: many records do not wait for the end', () => {
  mirror.add(Array.from({ length: 1000 }, (_, n) => record(`c${n}`)))
  expect(lines()).toHaveLength(1000)
})
