import { expect, test } from 'vitest'
import { readPermissions } from './read-permissions.ts'

test('elements, attributes and texts are read with their lines', async () => {
  expect(
    await readPermissions(' <permissions>\n  <read path="a &amp; b"/> <tool> x </tool>\n</permissions>', 'd'),
  ).toMatchObject({
    name: 'permissions',
    attributes: {},
    text: '',
    line: 1,
    children: [
      { name: 'read', attributes: { path: 'a & b' }, children: [], text: '', line: 2 },
      { name: 'tool', attributes: {}, children: [], text: 'x', line: 2 },
    ],
  })
})

test.each([
  ['<!DOCTYPE x><permissions/>', /document type.*line 1/],
  ['<permissions>&lol;</permissions>', /entity.*line 1/],
  ['<permissions a="1" a="2"/>', /duplicate.*line 1/],
  ['<permissions>\n<read></permissions>', /line 2/],
  ['<permissions>', /line 1/],
  ['', /line 1/],
  ['text', /line 1/],
  [`${'<a>'.repeat(70)}${'</a>'.repeat(70)}`, /nested deeper than 64/],
])('XML-01: %j is refused, with line and column', async (text, reason) => {
  await expect(readPermissions(text, 'd')).rejects.toMatchObject({
    code: 'PARSE_ERROR',
    message: expect.stringMatching(reason),
  })
})
