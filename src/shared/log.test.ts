import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Clock } from './clock.ts'
import type { LogLevel } from './log.ts'
import { createLog, LOG_LEVELS } from './log.ts'

const clock: Clock = { now: () => Date.UTC(2026, 0, 2, 3, 4, 5, 6), monotonic: () => 0 }

function openLines(level: LogLevel = 'debug') {
  const written: string[] = []
  const log = createLog({ level, clock, write: (text) => void written.push(text) })
  return { log, written }
}

const said = ['debug', 'info', 'warn', 'error'] as const

test.each(LOG_LEVELS)('at level %s only what is as urgent is written', (level) => {
  const { log, written } = openLines(level)
  for (const name of said) log[name](`${name}.event`)
  const expected = said.slice(LOG_LEVELS.indexOf(level))
  expect(written.map((line): unknown => JSON.parse(line))).toEqual(
    expected.map((name) => ({ time: '2026-01-02T03:04:05.006Z', level: name, event: `${name}.event` })),
  )
})

describe('one event is one line of JSON', () => {
  test('AUD-05: whatever a field holds, no second line is forged', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        fc.constantFrom(
          '\n',
          '\r\n',
          '\u2028',
          '\u2029',
          '\u0085',
          '\u001b[2J',
          '\u009b2J',
          '"',
          '|',
          '=',
          '\0',
        ),
        (text, sign) => {
          const { log, written } = openLines()
          const value = `${text}${sign}{"level":"error"}`
          log.info('call.done', { tool: value, [`key${sign}`]: [value] })
          expect(written.length).toBe(1)
          const [line = ''] = written
          expect(line.endsWith('\n')).toBe(true)
          // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
          expect(line.slice(0, -1)).not.toMatch(/[\u0000-\u001F\u007F-\u009F\u2028\u2029]/)
          expect(JSON.parse(line)).toMatchObject({ level: 'info', event: 'call.done', tool: value })
        },
      ),
    )
  })

  test('AUD-05: a field cannot pass itself off as the time, the level or the event', () => {
    const { log, written } = openLines()
    log.info('call.done', { level: 'error', event: 'store.lost', time: 'never', code: 1 })
    expect(written.map((line): unknown => JSON.parse(line))).toEqual([
      { time: '2026-01-02T03:04:05.006Z', level: 'info', event: 'call.done', code: 1 },
    ])
  })
})

test('RED-01: what stands under the name of a secret is not written, at any depth', () => {
  const { log, written } = openLines()
  log.warn('http.sent', {
    headers: { Authorization: 'Bearer canary', 'x-api-key': 'canary' },
    password: 'canary',
  })
  expect(written.join('')).not.toContain('canary')
  expect(written.join('')).toContain('[REDACTED]')
})
