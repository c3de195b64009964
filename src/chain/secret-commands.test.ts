import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Subprocess } from '../primitives/subprocess/subprocess.ts'
import { openSubprocess } from '../primitives/subprocess/subprocess.ts'
import { systemClock } from '../shared/clock.ts'
import { KiwiError } from '../shared/errors.ts'
import type { Progress } from '../shared/progress.ts'
import type { SecretCommand } from '../store/vault/secrets.ts'
import type { SecretCommands } from './secret-commands.ts'
import { openSecretCommands } from './secret-commands.ts'

const ASKER = { tool: 'weather', callId: 'call-1' }
let folder: string
let subprocess: Subprocess
let ahead: number
let known: string[]

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kiwi-giver-'))
  subprocess = openSubprocess({ clock: systemClock })
  ahead = 0
  known = []
})
afterEach(async () => {
  await subprocess.close()
  rmSync(folder, { recursive: true, force: true })
})

function open(limitMs?: number): SecretCommands {
  return openSecretCommands({
    subprocess,
    clock: { ...systemClock, monotonic: () => systemClock.monotonic() + ahead },
    childEnvironment: { PATH: '/usr/bin:/bin' },
    home: folder,
    know: (name, value) => void known.push(`${name}=${value}`),
    ...(limitMs === undefined ? {} : { limitMs }),
  })
}

/** A program that notes each run, then does what it is told. */
const bash = (text: string): SecretCommand => ({
  argv: ['/bin/bash', '-c', `echo run >> runs; ${text}`],
  set_at: 'then',
})
const runs = (): number => {
  const file = join(folder, 'runs')
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').length - 1 : 0
}
const refusal = async (asked: Promise<string>): Promise<KiwiError> => {
  const error: unknown = await asked.catch((thrown: unknown) => thrown)
  if (error instanceof KiwiError) return error
  throw new TypeError('it was not refused')
}

describe('X7: a program that gives a secret', () => {
  test('is remembered for five minutes, and known to the redaction before anybody has the value', async () => {
    const [commands, command] = [open(), bash('echo from-a-program')]
    expect(commands.heard('KEY', command)).toBeNull()
    expect(await commands.ask('KEY', command, ASKER, {})).toBe('from-a-program')
    expect(known).toEqual(['KEY=from-a-program'])
    ahead = 4.9 * 60_000
    expect(commands.heard('KEY', command)).toBe('from-a-program')
    expect(commands.heard('KEY', { ...command, set_at: 'later' })).toBeNull()
    expect(commands.heard('KEY', bash('echo another'))).toBeNull()
    ahead = 5.1 * 60_000
    expect(commands.heard('KEY', command)).toBeNull()
    expect(await commands.ask('KEY', command, ASKER, {})).toBe('from-a-program')
    expect(runs()).toBe(2)
  })

  test.each([
    ['one line break', 'printf "from-a-program\\n"', 'from-a-program'],
    ['those of another system', 'printf "from-a-program\\r\\n"', 'from-a-program'],
    ['none in the middle, and no blanks', 'printf " from\\na program \\n\\n"', ' from\na program '],
  ])('loses %s at its end', async (_, text, value) => {
    expect(await open().ask('KEY', bash(text), ASKER, {})).toBe(value)
  })

  test('that does not end is ended with all it started, and the next step says why that may be', async () => {
    const error = await refusal(open(200).ask('KEY', bash('sleep 60 & wait'), ASKER, {}))
    expect(error).toMatchObject({
      code: 'SECRET_UNAVAILABLE',
      message: 'Cannot run "weather": the program "bash", which gives KEY, did not end within 0.2 s',
      hint: expect.stringContaining('unlock'),
      details: { name: 'KEY', program: 'bash' },
    })
    expect(known).toEqual([])
  })

  test('that failed is asked anew by the next call', async () => {
    const command = bash('[ -e ready ] && echo from-a-program')
    const commands = open()
    expect(await refusal(commands.ask('KEY', command, ASKER, {}))).toMatchObject({
      code: 'SECRET_UNAVAILABLE',
    })
    writeFileSync(join(folder, 'ready'), '')
    expect(await commands.ask('KEY', command, ASKER, {})).toBe('from-a-program')
    expect(runs()).toBe(2)
  })

  test('that may not be executed, or fills its other output, is told as that', async () => {
    const plain = join(folder, 'plain')
    writeFileSync(plain, 'no program', { mode: 0o600 })
    const [commands, loud] = [open(), bash('head -c 100000 /dev/zero >&2; echo from-a-program')]
    expect((await refusal(commands.ask('KEY', { argv: [plain], set_at: '' }, ASKER, {}))).message).toContain(
      'may not be executed',
    )
    expect((await refusal(commands.ask('KEY', loud, ASKER, {}))).message).toContain('more than 64 KiB')
  })

  test('goes on for the others when one call goes away, and ends when all have', async () => {
    const [commands, command] = [open(), bash('sleep 0.3; echo from-a-program')]
    const leaving = new AbortController()
    const said: Progress[] = []
    const first = commands.ask('KEY', command, ASKER, {
      signal: leaving.signal,
      report: (progress) => void said.push(progress),
    })
    const second = commands.ask('KEY', command, ASKER, {})
    await sleep(50)
    leaving.abort()
    expect(await refusal(first)).toMatchObject({ code: 'CANCELLED' })
    expect(await second).toBe('from-a-program')
    expect(said[0]?.message).toBe('asking "bash" for KEY')
    expect(runs()).toBe(1)

    const alone = new AbortController()
    const third = commands.ask('KEY', bash('sleep 60'), ASKER, { signal: alone.signal })
    await sleep(50)
    alone.abort()
    expect(await refusal(third)).toMatchObject({ code: 'CANCELLED' })
  })
})
