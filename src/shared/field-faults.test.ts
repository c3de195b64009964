import { expect, test } from 'vitest'
import { z } from 'zod'
import { IN_WORDS, fieldFaults } from './field-faults.ts'

const Shape = z.strictObject({
  text: z.string().min(2).max(3),
  number: z.number().max(9),
  whole: z.int(),
  flag: z.boolean(),
  list: z.array(z.string()).min(1),
  map: z.record(z.string(), z.string()),
  choice: z.enum(['a', 'b']),
  either: z.union([z.string(), z.array(z.string())]),
  own: z.string().refine((text) => text !== 'no', 'must not be no'),
})
const WELL = {
  text: 'ab',
  number: 1,
  whole: 1,
  flag: true,
  list: ['x'],
  map: {},
  choice: 'a',
  either: 'x',
  own: 'yes',
}

test.each<[object, string, string]>([
  [{ text: undefined }, 'text', 'is missing'],
  [{ text: 1 }, 'text', 'must be a text'],
  [{ text: 'a' }, 'text', 'must have at least 2 characters'],
  [{ text: 'abcd' }, 'text', 'must have at most 3 characters'],
  [{ number: 'x' }, 'number', 'must be a number'],
  [{ number: 10 }, 'number', 'must be at most 9'],
  [{ whole: 1.5 }, 'whole', 'must be a whole number'],
  [{ flag: 'yes' }, 'flag', 'must be true or false'],
  [{ list: {} }, 'list', 'must be a list'],
  [{ list: [] }, 'list', 'must have at least 1 entries'],
  [{ list: ['x', 1] }, 'list.1', 'must be a text'],
  [{ map: [] }, 'map', 'must be an object'],
  [{ choice: 'c' }, 'choice', 'must be one of a, b'],
  [{ choice: undefined }, 'choice', 'is missing; it must be one of a, b'],
  [{ either: 1 }, 'either', 'has none of the forms it can have'],
  [{ own: 'no' }, 'own', 'must not be no'],
  [{ txt: 1 }, '', 'has no key "txt": "text" is probably meant'],
  [
    { other: 1 },
    '',
    'has no key "other": it may have text, number, whole, flag, list, map, choice, either, own',
  ],
])('S14: %j: "%s" %s', (change, name, reason) => {
  const { error } = Shape.safeParse({ ...WELL, ...change }, IN_WORDS)
  expect(fieldFaults(error?.issues ?? [])).toEqual([{ name, reason }])
})
