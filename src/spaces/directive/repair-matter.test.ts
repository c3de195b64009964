import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { KiwiError } from '../../shared/errors.ts'
import { parseDirective } from './parse-directive.ts'
import { repairText } from './repair-text.ts'

const ORIGIN = { where: 'd.md', stem: 'd', isSkill: false }
const matter = (...lines: readonly string[]): string =>
  `---\nname: d\n${lines.join('\n')}\n---\nBody: a & b\n`

test.each([
  ['a colon in a text', 'description: Deploy: all of it', 'description: "Deploy: all of it"', 14],
  ['a placeholder at the start', 'description: {name} is deployed', 'description: "{name} is deployed"', 14],
  ['a mark at the start', 'description: [draft] Deploys', 'description: "[draft] Deploys"', 14],
  ['a sign that means something', 'description: @all of it', 'description: "@all of it"', 14],
  ['a star', 'description: *all* of it', 'description: "*all* of it"', 14],
])('D1: %s is refused with the line as YAML wants it', async (_, line, repaired, column) => {
  const text = matter(line, 'inputs: []')
  await expect(parseDirective(text, ORIGIN)).rejects.toMatchObject({
    code: 'PARSE_ERROR',
    hint: `Write line 3 as: ${repaired} (kiwi check --fix does that)`,
    details: { line: 3, column, repaired },
  })
  expect(await repairText(text, ORIGIN)).toEqual({ text: matter(repaired, 'inputs: []'), lines: [3] })
})

test('D1: a key that stands too far in is moved beside the one above it, which is left as it is', async () => {
  const text = matter('  description: Deploys', 'version: 1.0.0')
  await expect(parseDirective(text, ORIGIN)).rejects.toMatchObject({
    hint: 'Write line 3 as: description: Deploys (kiwi check --fix does that)',
  })
  expect(await repairText(text, ORIGIN)).toEqual({
    text: matter('description: Deploys', 'version: 1.0.0'),
    lines: [3],
  })
})

test('D1: several lines are repaired one after the other, tabs and ends of lines among them', async () => {
  const text = matter('description: a: b', 'steps:', '\t- action: {x} is: y').replaceAll('\n', '\r\n')
  expect(await repairText(text, ORIGIN)).toEqual({
    text: matter('description: "a: b"', 'steps:', '  - action: "{x} is: y"').replaceAll('\n', '\r\n'),
    lines: [3, 5],
  })
})

test.each([
  ['a key twice', 'name: e'],
  ['a list that is not closed', 'tools: [a'],
  ['a mapping that is not closed', 'tools: {a'],
  ['a text that is not closed', 'description: "a'],
  ['an alias', 'description: *other'],
  ['an anchor with aliases', 'tools: &b [*a, *a]'],
])('D1: %s has no repair, and nothing of XML is said', async (_, line) => {
  const error = await parseDirective(matter(line), ORIGIN).catch((reason: unknown) => reason)
  if (!(error instanceof KiwiError)) throw new TypeError('it was read')
  expect(error.code).toBe('PARSE_ERROR')
  expect(error.details).not.toHaveProperty('repaired')
  expect(`${error.message} ${error.hint}`).not.toMatch(/[<>]/)
})

test('PAR-02, fuzz: whatever stands in front is read or refused with a place', async () => {
  const word = fc.constantFrom(
    'a',
    ': ',
    '- ',
    '[',
    ']',
    '{',
    '}',
    '"',
    '*x',
    '&',
    '\t',
    '\n',
    '  ',
    '#',
    '|',
  )
  await fc.assert(
    fc.asyncProperty(fc.array(word, { maxLength: 40 }), async (words) => {
      const error = await repairText(matter(words.join('')), ORIGIN).then(
        () => null,
        (reason: unknown) => reason,
      )
      if (error !== null) expect(error).toMatchObject({ details: { line: expect.any(Number) } })
    }),
    { numRuns: 300 },
  )
})
