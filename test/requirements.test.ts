import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { citedIds, pages, testTitles } from '../scripts/pages.ts'
import { REQUIREMENTS } from './requirements.ts'

const ROOT = join(import.meta.dirname, '..')

test('every promise is cited by a test', () => {
  const cited = new Set(testTitles(ROOT).flatMap(({ title }) => citedIds(title)))
  expect(Object.keys(REQUIREMENTS).filter((id) => !cited.has(id))).toEqual([])
})

test('generated pages are what their sources say: npm run docs writes them', () => {
  for (const [path, text] of pages(ROOT))
    expect([path, readFileSync(join(ROOT, path), 'utf8')]).toEqual([path, text])
})

test('ids are read off the beginning of a name', () => {
  expect(citedIds('P5, ENV-01: a value is never read again')).toEqual(['P5', 'ENV-01'])
  expect(citedIds('P5 ENV-01: a value is never read again')).toEqual(['P5', 'ENV-01'])
  expect(citedIds('a name without ids: it has none')).toEqual([])
})
