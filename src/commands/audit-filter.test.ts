import { expect, test } from 'vitest'
import { filterOf } from './audit-filter.ts'

const NOW = Date.parse('2026-11-16T12:00:00Z')

test('H7: a time is given as ISO 8601, or as how long ago', () => {
  expect(filterOf({ since: '2h' }, NOW)).toEqual({ since: NOW - 7_200_000 })
  expect(filterOf({ since: '3d', until: '90s' }, NOW)).toEqual({
    since: NOW - 259_200_000,
    until: NOW - 90_000,
  })
  expect(filterOf({ until: '2026-11-16T11:00:00Z' }, NOW)).toEqual({ until: NOW - 3_600_000 })
  expect(filterOf({ since: '2026-11-16' }, NOW)).toEqual({ since: Date.parse('2026-11-16T00:00:00Z') })
})

test.each(['yesterday', '2 h', '-2h', '', '16.11.2026', '2026-13-01', '1'])(
  'H7: "%s" is no time',
  (since) => {
    expect(() => filterOf({ since }, NOW)).toThrow(
      expect.objectContaining({ code: 'INVALID_PARAMETERS', hint: expect.stringContaining('2h') }),
    )
  },
)

test('H7: only what was asked for filters', () => {
  expect(filterOf({}, NOW)).toEqual({})
  expect(filterOf({ call: 'c1', denied: true, session: 's' }, NOW)).toEqual({
    call_id: 'c1',
    isDenied: true,
    session: 's',
  })
})

test('H7: a status that no record has is refused, with those that there are', () => {
  for (const status of ['deny', 'denied', 'parked', 'unknown'])
    expect(filterOf({ status }, NOW)).toEqual({ status })
  expect(() => filterOf({ status: 'refused' }, NOW)).toThrow(
    expect.objectContaining({ code: 'INVALID_PARAMETERS', hint: expect.stringContaining('denied') }),
  )
})
