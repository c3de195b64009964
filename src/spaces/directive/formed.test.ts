import { expect, test } from 'vitest'
import type { Directive } from './model.ts'
import { parseDirective } from './parse-directive.ts'

async function read(keys: string, isSkill = false): Promise<Directive> {
  const text = `---\nname: d\n${keys}\n---\nDo it\n`
  return (await parseDirective(text, { where: 'd.md', stem: 'd', isSkill })).directive
}

const CAPABILITIES = 'requires: {capabilities: {declared: [...]}}, or what it may do under permissions'

test.each([
  ['extends: [a, b]', 1, '"extends" is a list: it takes the name of one directive', 'extends: other'],
  ['extends: {a: b}', 1, '"extends" is a mapping: it takes the name of one directive', 'extends: other'],
  ['limits: 5', 1, '"limits" is 5: it takes numbers by name', 'limits: {turns: 20}'],
  ['limits: [turns]', 1, '"limits" is a list: it takes numbers by name', 'limits: {turns: 20}'],
  [
    'relationships: [a, b]',
    1,
    '"relationships" is a list: it takes names under requires, suggests, extends, related',
    'relationships: {requires: [other]}',
  ],
  [
    'relationships: {requires: [{a: b}]}',
    17,
    '"relationships.requires" is a list: it takes the names of directives',
    'relationships: {requires: [other]}',
  ],
  ['requires: [x]', 1, '"requires" is a list: it takes "capabilities"', CAPABILITIES],
  [
    'requires: {capabilities: [x]}',
    12,
    '"requires.capabilities" is a list: it takes "declared"',
    CAPABILITIES,
  ],
  [
    'requires: {capabilities: {declared: some.string}}',
    27,
    '"requires.capabilities.declared" is a text: it takes a list',
    CAPABILITIES,
  ],
])('D1: "%s" is an error with its place, and what to write', async (keys, column, reason, write) => {
  await expect(read(keys)).rejects.toMatchObject({
    code: 'PARSE_ERROR',
    message: `Cannot read "d.md": ${reason} (line 3, column ${column})`,
    hint: `Write ${write}`,
    details: { line: 3, column },
  })
})

test.each([
  ['limits: [{turns: 5}, {max_tokens: 3}]', { limits: { turns: 5, tokens: 3 } }],
  [
    'relationships: [{requires: a}, {related: {directive: b}}]',
    {
      relations: [
        { kind: 'requires', directive: 'a' },
        { kind: 'related', directive: 'b' },
      ],
    },
  ],
  ['extends:\nlimits:\nrelationships:\nrequires:', { extends: null, limits: {}, relations: [] }],
])('D1: what is written as elements are, or is not there, is read: %s', async (keys, expected) => {
  expect(await read(keys)).toMatchObject({ ...expected, findings: [] })
})

test('D1: what else is required is kept, and said to be without effect', async () => {
  const keys = 'requires: {capabilities: {declared: [ryeos.execute.tool.a], optional: [x]}, env: [A]}'
  const { findings, permissions } = await read(keys)
  expect(permissions?.children).toMatchObject([{ name: 'execute' }])
  expect(findings.map(({ message }) => message)).toEqual([
    '"requires.env" is not known: kept, without effect',
    '"requires.capabilities.optional" is not known: kept, without effect',
  ])
})

test('X11: a skill with words of its own under such a key is read, and they are said', async () => {
  const { findings, permissions } = await read('requires: [git]', true)
  expect(permissions).toBeNull()
  expect(findings).toEqual([
    { line: 3, column: 1, message: '"requires" is a list: it takes "capabilities": kept, without effect' },
  ])
})
