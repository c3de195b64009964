import { execFileSync } from 'node:child_process'
import { existsSync, linkSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { OutputSettings } from '../config/config.ts'
import { systemClock } from '../shared/clock.ts'
import type { Outputs } from './outputs.ts'
import { openOutputs } from './outputs.ts'

let folder: string
let project: string
let now: number
const NOON = Date.UTC(2026, 0, 28, 12, 34, 56)

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kiwi-outputs-'))
  project = join(folder, 'project')
  mkdirSync(join(project, '.ai'), { recursive: true })
  now = NOON
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const open = (settings: Partial<OutputSettings> = {}): Outputs =>
  openOutputs({
    settings: { keep: 10, minBytes: 0, ...settings },
    userSpace: join(folder, 'user'),
    clock: { ...systemClock, now: () => now },
  })
const save = async (
  outputs: Outputs,
  output: string,
  at: string | null = project,
): Promise<readonly string[]> => {
  const warnings = await outputs.begin('a_tool', at).save(() => ({ output }))
  // Behind the reply, a moment later.
  await sleep(120)
  return warnings
}
const place = (root = join(project, '.ai')): string => join(root, 'outputs/tools/a_tool')
const saved = (root?: string): readonly string[] =>
  readdirSync(place(root))
    .filter((name) => !name.startsWith('.'))
    .toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }))
const read = (name: string): unknown => JSON.parse(readFileSync(join(place(), name), 'utf8'))

describe('L6: the newest results of a tool', () => {
  test('of many runs at one moment the newest are saved, in their order, and no more are written', async () => {
    const outputs = open()
    await save(outputs, 'first')
    const runs = Array.from({ length: 40 }, (_, n) => `${n}`)
    let made = 0
    for (const output of runs) {
      const warnings = await outputs.begin('a_tool', project).save(() => {
        made += 1
        return { output }
      })
      expect(warnings).toEqual([])
    }
    outputs.close()
    expect(saved().map(read)).toEqual(runs.slice(-10).map((output) => ({ output })))
    expect(made).toBe(10)
  })

  test('12 runs in one second leave 10 files with the newest results', async () => {
    const outputs = open()
    for (let n = 1; n <= 12; n++) await save(outputs, `${n}`)
    expect(saved()).toEqual([3, 4, 5, 6, 7, 8, 9, 10, 11, 12].map((n) => `output_20260128_123456_${n}.json`))
    expect(saved().map(read)).toEqual([3, 4, 5, 6, 7, 8, 9, 10, 11, 12].map((n) => ({ output: `${n}` })))
    now += 1000
    await save(outputs, 'later')
    expect(saved()).toHaveLength(10)
    expect(read('output_20260128_123457.json')).toEqual({ output: 'later' })
    expect(existsSync(join(place(), 'output_20260128_123456_3.json'))).toBe(false)
  })

  test('so do 12 at once, and 24 of two processes', async () => {
    const two = [open(), open()]
    await Promise.all(Array.from({ length: 12 }, (_, n) => save(two[0] ?? open(), `${n}`)))
    expect(saved()).toHaveLength(10)
    await Promise.all(Array.from({ length: 24 }, (_, n) => save(two[n % 2] ?? open(), `${n}`)))
    for (const outputs of two) outputs.close()
    expect(saved()).toHaveLength(10)
    expect(readdirSync(place())).toHaveLength(10)
  })

  test('no reply waits for the disk where it went well before, and what then fails is told with the next', async () => {
    const outputs = open()
    await save(outputs, 'first')
    const begun = outputs.begin('a_tool', project)
    expect(await begun.save(() => ({ output: 'second' }))).toEqual([])
    expect(saved()).toHaveLength(1)
    outputs.close()
    expect(new Set(saved().map(read))).toEqual(new Set([{ output: 'first' }, { output: 'second' }]))
    rmSync(folder, { recursive: true })
    writeFileSync(folder, 'no folder any more')
    expect(await save(outputs, 'third')).toEqual([])
    expect(await save(outputs, 'fourth')).toEqual([expect.stringContaining('could not be saved')])
  })

  test('a longer result before leaves nothing in a shorter one after', async () => {
    const outputs = open({ keep: 1 })
    await save(outputs, 'x'.repeat(10_000))
    await save(outputs, 'short')
    expect(saved().map(read)).toEqual([{ output: 'short' }])
  })

  test('a file that somebody linked to keeps what it says', async () => {
    const outputs = open({ keep: 1 })
    await save(outputs, 'first')
    linkSync(join(place(), 'output_20260128_123456.json'), join(folder, 'mine'))
    await save(outputs, 'second')
    expect(readFileSync(join(folder, 'mine'), 'utf8')).toBe('{"output":"first"}')
    expect(saved().map(read)).toEqual([{ output: 'second' }])
  })

  test('what others put there stays; what a killed process left goes after a day', async () => {
    mkdirSync(place(), { recursive: true })
    const [left, fresh] = ['a', 'b'].map((letter) => `.${letter.repeat(8)}-0000-0000-0000-000000000000.tmp`)
    for (const name of [left, fresh, 'notes.json', 'output_x.json'])
      writeFileSync(join(place(), name ?? ''), '')
    utimesSync(join(place(), left ?? ''), NOON / 1000 - 100_000, NOON / 1000 - 100_000)
    const outputs = open()
    for (let n = 0; n < 12; n++) await save(outputs, `${n}`)
    outputs.close()
    expect(
      readdirSync(place())
        .filter((name) => !/^output_\d/.test(name))
        .toSorted(),
    ).toEqual([fresh, 'notes.json', 'output_x.json'])
  })

  test('what is there is never written to, whatever it is: a result is a file of its own that only we read', async () => {
    mkdirSync(place(), { recursive: true })
    const at = (second: number): string => join(place(), `output_20200101_0000${second}.json`)
    for (let n = 10; n < 20; n++) writeFileSync(at(n), '{}', { mode: 0o666 })
    execFileSync('mkfifo', [at(20)])
    mkdirSync(at(21))
    symlinkSync(join(folder, 'mine'), at(22))
    writeFileSync(join(folder, 'mine'), 'mine')
    // Found by whoever would write into the FIFO: without a reader that waits for ever.
    for (let n = 0; n < 10; n++) expect(await save(open(), `${n}`)).toEqual([])
    expect(readFileSync(join(folder, 'mine'), 'utf8')).toBe('mine')
    const ours = saved().filter((name) => name.startsWith('output_2026'))
    expect(ours).toHaveLength(10)
    for (const name of ours) expect(lstatSync(join(place(), name)).mode & 0o777).toBe(0o600)
    expect(saved().filter((name) => !ours.includes(name))).toEqual(
      [20, 21, 22].map((second) => `output_20200101_0000${second}.json`),
    )
  })

  test('keep and min_bytes say what is saved', async () => {
    await save(open({ keep: 0 }), 'x')
    await save(open({ minBytes: 5 }), '1234')
    expect(existsSync(place())).toBe(false)
    await save(open({ minBytes: 5 }), '12345')
    expect(saved()).toHaveLength(1)
    for (let n = 0; n < 5; n++) await save(open(), `${n}`)
    await save(open({ keep: 2 }), 'last')
    expect(saved().map(read)).toEqual([{ output: '4' }, { output: 'last' }])
  })
})

describe('L6: where they go', () => {
  test('to the project, hidden from git', async () => {
    await save(open(), 'x')
    expect(readFileSync(join(project, '.ai/outputs/.gitignore'), 'utf8')).toBe('*\n')
  })

  test.each([
    ['no project', (): string | null => null],
    ['a project without a folder of its own', (): string => join(folder, 'bare')],
    [
      'a project whose folder leads out',
      (): string => {
        mkdirSync(join(folder, 'linked'))
        mkdirSync(join(folder, 'outside'))
        symlinkSync(join(folder, 'outside'), join(folder, 'linked/.ai'))
        return join(folder, 'linked')
      },
    ],
    [
      'a project whose outputs lead out',
      (): string => {
        mkdirSync(join(folder, 'outside'))
        symlinkSync(join(folder, 'outside'), join(project, '.ai/outputs'))
        return project
      },
    ],
    [
      'a project where they cannot be written',
      (): string => {
        writeFileSync(join(project, '.ai/outputs'), 'a file')
        return project
      },
    ],
  ])('%s: to the person', async (_what, at) => {
    expect(await save(open(), 'x', at())).toEqual([])
    expect(saved(join(folder, 'user'))).toEqual(['output_20260128_123456.json'])
    if (existsSync(join(folder, 'outside'))) expect(readdirSync(join(folder, 'outside'))).toEqual([])
  })

  test.each(['outputs', 'outputs/tools'])(
    'FS-03: not through a link that the run itself has laid in place of %s',
    async (name) => {
      const outputs = open()
      await save(outputs, 'before')
      const pending = outputs.begin('tool', project)
      mkdirSync(join(folder, 'outside'))
      rmSync(join(project, '.ai', name), { recursive: true })
      symlinkSync(join(folder, 'outside'), join(project, '.ai', name))
      await pending.save(() => ({ output: 'x' }))
      outputs.close()
      expect(readdirSync(join(folder, 'outside'))).toEqual([])
    },
  )

  test('nowhere at all is a warning', async () => {
    writeFileSync(join(folder, 'user'), 'a file')
    expect(await save(open(), 'x', null)).toEqual([
      expect.stringContaining('the output could not be saved: '),
    ])
  })
})
