import { expect, test } from 'vitest'
import { nearest } from './nearest.ts'

const NAMES = ['echo', 'get-sum', 'get-env', 'get_sum_of_all', 'toggle']

test.each([
  ['get_sum', ['get-sum']],
  ['GetSum', ['get-sum']],
  ['ecoh', ['echo']],
  ['ech', ['echo']],
  ['togle', ['toggle']],
  ['nothing', []],
  ['', []],
])('"%s" may mean %j', (given, expected) => {
  expect(nearest(given, NAMES)).toEqual(expected)
})

test('the best come first, and no more than a few', () => {
  expect(nearest('abcd', ['abce', 'abcd', 'bbcd', 'abdc', 'accd'])).toEqual(['abcd', 'abce', 'abdc'])
})

test('what is written exactly so comes before what differs in case', () => {
  expect(nearest('na', ['NA', 'Na', 'na', 'n-a'])).toEqual(['na', 'NA', 'Na'])
})
