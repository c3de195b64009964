import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { CLI, kiwi } from '../e2e/temp-server.ts'
import { field, textField } from '../fixtures/field.ts'
import type { Place } from '../fixtures/place.ts'
import { makePlace } from '../fixtures/place.ts'

let place: Place
beforeEach(() => {
  place = makePlace(existsSync('/dev/shm') ? '/dev/shm' : tmpdir())
})
afterEach(() => place.remove())

/** So many that it is caught in the middle, however seldom a busy machine lets us look. */
const FILES = 1600
const KILLS = 3
/** Most of it is the start of processes, which a busy machine makes slow. */
const TIMEOUT_MS = 120_000
const at = (name: string): string => join(place.project, 'many', name)
const names = Array.from({ length: FILES }, (_, n) => `f${n}.txt`)
const isHidden = (name: string): boolean => name.startsWith('.')

const json = async (...args: string[]): Promise<unknown> =>
  JSON.parse((await kiwi(place, [...args, '--json'])).stdout)

/** Kills it in the middle: when so many files are there again. Says how many there were. */
async function killed(args: readonly string[], files: number): Promise<number> {
  const child = spawn(process.execPath, [CLI, ...args], {
    cwd: place.project,
    env: place.env,
    stdio: 'ignore',
  })
  const gone = once(child, 'exit')
  const count = (): number =>
    readdirSync(join(place.project, 'many')).filter((name) => !isHidden(name)).length
  while (child.exitCode === null && count() < files) await nextTurn()
  child.kill('SIGKILL')
  await gone
  return count()
}

test(
  'H4: killed during an undo, every file is what it was or what it becomes, and the next try finishes',
  async () => {
    mkdirSync(join(place.project, '.ai'))
    mkdirSync(join(place.project, 'many'))
    for (const name of names) writeFileSync(at(name), `before ${name}\n`)
    await kiwi(place, ['trust', '--yes'])
    // Half of them are changed, half are gone.
    const change = `for n in {0..${FILES / 2 - 1}}; do echo f$n.txt; done | xargs sed -i s/before/after/\nfor n in {${FILES / 2}..${FILES - 1}}; do echo f$n.txt; done | xargs rm\ntouch new.txt`
    const folder = join(place.folder, 'change')
    mkdirSync(folder)
    writeFileSync(
      join(folder, 'tool.yaml'),
      `tool_id: change\ntool_type: bash\ndescription: changes\nmutates_state: true\nconfig: {cwd: "${join(place.project, 'many')}"}\n`,
    )
    writeFileSync(join(folder, 'main.sh'), `#!/bin/bash\n${change}\n`)
    await kiwi(place, ['create', folder])
    const id = textField(await json('run', 'change'), 'data', 'undo_id')
    expect(readdirSync(join(place.project, 'many'))).toHaveLength(FILES / 2 + 1)
    const counts: number[] = []
    for (let round = 0; round < KILLS; round++) {
      counts.push(await killed(['undo', id, '--yes'], FILES / 2 + 10 + round * 200))
      for (const name of readdirSync(join(place.project, 'many')).filter((each) => !isHidden(each))) {
        const text = readFileSync(at(name), 'utf8')
        if (name !== 'new.txt') expect([`before ${name}\n`, `after ${name}\n`]).toContain(text)
      }
    }
    expect(counts.some((count) => count < FILES)).toBe(true)
    // It may have come to its end before it was killed.
    const last = await json('undo', id, '--yes')
    expect([null, 'CONFLICT']).toContain(field(last, 'error', 'code') ?? null)
    expect(readdirSync(join(place.project, 'many')).toSorted()).toEqual(names.toSorted())
    for (const name of names) expect(readFileSync(at(name), 'utf8')).toBe(`before ${name}\n`)
  },
  TIMEOUT_MS,
)

test(
  'H4: a command that is cut off together with Kiwi: what it removed comes back',
  async () => {
    mkdirSync(join(place.project, '.ai'))
    mkdirSync(join(place.project, 'many'))
    for (const name of names.slice(0, 20)) writeFileSync(at(name), name)
    execFileSync('mkfifo', [at('pipe')])
    const child = spawn(
      process.execPath,
      [
        CLI,
        'run',
        'shell.run',
        '--params',
        JSON.stringify({ command: 'rm many/pipe many/f0.txt many/f1.txt; sleep 60' }),
      ],
      { cwd: place.project, env: place.env, stdio: 'ignore' },
    )
    const gone = once(child, 'exit')
    for (let waited = 0; existsSync(at('f1.txt')) && waited < 400; waited++) await sleep(50)
    child.kill('SIGKILL')
    await gone
    expect(existsSync(at('f1.txt'))).toBe(false)
    // The next start settles what was cut off.
    const { stdout } = await kiwi(place, ['audit', '--status', 'unknown', '--json'])
    const id = textField(JSON.parse(stdout.split('\n')[0] ?? ''), 'call_id')
    expect(await json('undo', id, '--yes')).toMatchObject({
      data: {
        totals: { bring_back: 2, conflict: 0 },
        not_covered: ['what .gitignore names', 'many/pipe: gone, and it is a pipe'],
      },
    })
    expect(readFileSync(at('f0.txt'), 'utf8')).toBe('f0.txt')
    expect(readFileSync(at('f1.txt'), 'utf8')).toBe('f1.txt')
  },
  TIMEOUT_MS,
)
