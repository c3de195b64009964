import { describe, expect, test } from 'vitest'
import { ERRORS, KiwiError, messageOf } from './errors.ts'

describe('S14: the table of errors', () => {
  test.each(Object.entries(ERRORS))(
    '%s says what it means, what to do, and how the command ends',
    (code, row) => {
      expect(code).toMatch(/^[A-Z]+(?:_[A-Z]+)*$/)
      expect(row.means).toMatch(/^[A-Z].{9,}[^.\s]$/)
      expect(row.hint).toMatch(/^[A-Z].{5,}[^.\s]$/)
      expect([2, 3, 4, 5, 6, 70]).toContain(row.exit)
    },
  )

  test('what can be tried again ends with 6, and nothing else does', () => {
    const rows = Object.values(ERRORS)
    expect(rows.filter(({ exit }) => exit === 6)).toEqual(rows.filter(({ retryable }) => retryable))
    expect(ERRORS.TIMEOUT.retryable).toBe(true)
    expect(ERRORS.OUTCOME_UNKNOWN.retryable).toBe(false)
  })

  test('only a fault of our own ends with 70', () => {
    const ours = Object.entries(ERRORS).filter(([, { exit }]) => exit === 70)
    expect(ours.map(([code]) => code)).toEqual(['INTERNAL'])
  })

  test('no two codes mean the same', () => {
    const meanings = Object.values(ERRORS).map(({ means }) => means)
    expect(new Set(meanings).size).toBe(meanings.length)
  })
})

describe('an error', () => {
  test('S14: can be tried again when the table says so, unless it knows better', () => {
    expect(new KiwiError('TIMEOUT', 'late').retryable).toBe(true)
    expect(new KiwiError('TIMEOUT', 'late', { retryable: false }).retryable).toBe(false)
    expect(new KiwiError('NOT_FOUND', 'nowhere').retryable).toBe(false)
  })

  test('S14: brings the hint of the table unless it has its own', () => {
    const error = new KiwiError('NOT_FOUND', 'Cannot find tool "a"')
    expect(error).toMatchObject({
      name: 'KiwiError',
      code: 'NOT_FOUND',
      message: 'Cannot find tool "a"',
      hint: ERRORS.NOT_FOUND.hint,
      details: {},
      fix: undefined,
      partial: undefined,
    })
    expect('cause' in error).toBe(false)
    expect(error).toBeInstanceOf(Error)
  })

  test('carries what is needed to go on', () => {
    const cause = new Error('disk')
    const fix = { call: 'search', arguments: { query: 'a' } } as const
    const error = new KiwiError('CONFLICT', 'Cannot write "a"', {
      hint: 'Look at it',
      details: { path: '/a' },
      partial: { done: 1 },
      fix,
      cause,
    })
    expect(error).toMatchObject({
      hint: 'Look at it',
      details: { path: '/a' },
      partial: { done: 1 },
      fix,
      cause,
    })
  })
})

test('whatever was thrown has a text', () => {
  expect([new Error('a'), new KiwiError('INTERNAL', 'b'), 'c', 4, undefined, null].map(messageOf)).toEqual([
    'a',
    'b',
    'c',
    '4',
    'undefined',
    'null',
  ])
})
