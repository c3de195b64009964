import { expect, test } from 'vitest'
import type { Finding } from './model.ts'
import { parseDirective } from './parse-directive.ts'

const XML = '# T\n\n```xml\n<directive name="d" version="1.0.0"><process>x</process></directive>\n```\n'
const CAPITAL = XML.replaceAll('directive', 'Directive')

async function findingsIn(text: string, isSkill = false): Promise<readonly Finding[]> {
  const { directive } = await parseDirective(text, { where: 'd.md', stem: 'd', isSkill })
  return directive.dialect === 'xml' ? [] : directive.findings
}

test.each([
  'model: sonnet',
  'limits: {turns: 1}',
  'context: a',
  'permissions: []',
  'name: d\nmodel: sonnet\nextends: base',
])('D1: a <directive> below front matter with "%s" is text, and that is said', async (keys) => {
  const [finding, ...others] = await findingsIn(`---\n${keys}\n---\n${XML}`)
  expect(others).toEqual([])
  expect(finding).toMatchObject({ line: 6 + keys.split('\n').length, column: 1 })
  const own = [...keys.matchAll(/^(?!name)\w+/gm)].map(([key]) => `"${key}"`).toSorted()
  const said = /by (.*) the front matter is the directive: write that in the XML, and take it out above/
  expect(
    said
      .exec(finding?.message ?? '')?.[1]
      ?.split(', ')
      .toSorted(),
  ).toEqual(own)
})

test('X11, D1: so is one in a SKILL.md', async () => {
  expect(await findingsIn(`---\nname: d\n---\n${XML}`, true)).toEqual([
    expect.objectContaining({
      line: 7,
      message: expect.stringContaining('a SKILL.md is followed as it stands'),
    }),
  ])
})

test.each(['', '---\ndescription: a\n---\n', '---\nmodel: a\n---\n'])(
  'D1: one with a capital is text, and that is said: %j',
  async (front) => {
    expect(await findingsIn(front + CAPITAL)).toEqual([
      {
        line: front === '' ? 4 : 7,
        column: 1,
        message: 'this <Directive> is text: it is written <directive>',
      },
    ])
  },
)

test('D1: one that is only shown is said where nothing else is the directive', async () => {
  const shown = XML.replace('xml', 'text')
  const said = expect.stringContaining('to be read it stands first in a fence of ```xml')
  for (const front of ['', '---\ndescription: a\n---\n'])
    expect(await findingsIn(front + shown)).toEqual([expect.objectContaining({ message: said })])
  expect(await findingsIn(`---\nsteps: [a]\n---\n${shown}`)).toEqual([])
  expect(await findingsIn('---\ndescription: a\n---\n' + XML)).toEqual([])
})
