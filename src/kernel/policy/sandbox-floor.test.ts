import { expect, test } from 'vitest'
import { floorOf } from './sandbox-floor.ts'

test('X8: of several files the strictest of each holds, and none says nothing', () => {
  expect(floorOf([])).toBeNull()
  expect(floorOf([{ level: 'fs', required: false }])).toEqual({ level: 'fs', net: 'all', isRequired: false })
  expect(
    floorOf([
      { level: 'strict', required: true },
      { level: 'fs', net: 'all', required: false },
    ]),
  ).toEqual({
    level: 'strict',
    net: 'none',
    isRequired: true,
  })
})

test('X8: a project cannot give a strict sandbox the network back, whoever says strict may', () => {
  const strict = { level: 'strict', required: false } as const
  expect(floorOf([strict, { ...strict, net: 'all' }])).toMatchObject({ net: 'none' })
  expect(floorOf([{ ...strict, net: 'all' }])).toMatchObject({ net: 'all' })
  expect(
    floorOf([
      { ...strict, net: 'all' },
      { ...strict, net: 'proxy' },
    ]),
  ).toMatchObject({ net: 'proxy' })
})
