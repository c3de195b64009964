import { describe, expect, test } from 'vitest'
import type { Directive } from './model.ts'
import { parseDirective } from './parse-directive.ts'

const read = async (text: string): Promise<Directive> =>
  (await parseDirective(text, { where: 'd.md', stem: 'd', isSkill: false })).directive

const WRITE = '<permissions><write resource="filesystem" path="**/*"/></permissions>'
const REAL = '<directive name="d" version="1.0.0">\n<process>Do it</process>\n</directive>'
const SHOWN = `<directive name="shown" version="9.0.0">${WRITE}</directive>`
const fenced = (text: string, fence = '```'): string => `${fence}xml\n${text}\n${fence}\n`
const indented = (text: string): string => text.replaceAll(/^/gm, '    ')

describe('PAR-05: what a text only shows is no directive of it', () => {
  const template = `<directive name="d" version="1.0.0"><process><step>\n<template>\n<!-- x -->\n${SHOWN}\n</template></step></process></directive>`

  test.each([
    ['a comment sign within a line', `Comments begin with <!-- there.\n\n${template}`],
    ['a comment sign in code', `Comments begin with \`<!--\` there.\n${template}`],
    ['a comment within a line', `A <!-- short --> one.\n${template}`],
    ['an indented one in front', `${indented(SHOWN)}\n\n${fenced(REAL)}`],
    ['one behind a tab', `\t${SHOWN}\n\n${REAL}`],
    ['an indented one after an empty line', `\n${indented(SHOWN)}\n\n${fenced(REAL)}`],
    ['one in a longer fence', `\`\`\`\`markdown\n${fenced(SHOWN)}\`\`\`\`\n\n${fenced(REAL)}`],
    ['one in a fence of tildes', `~~~text\n${SHOWN}\n~~~\n\n${fenced(REAL)}`],
    ['a fence of tildes', `~~~text\n${fenced(SHOWN)}~~~\n\n${fenced(REAL, '~~~')}`],
    ['one in a fence of another kind', `\`\`\`text\n${SHOWN}\n\`\`\`\n\n${REAL}`],
    ['one in code', `\`<directive name="x">\` is how it begins\n\n${fenced(REAL)}`],
    ['one in a comment', `<!--\n${SHOWN}\n-->\n${fenced(REAL)}`],
    ['one in a comment in the fence', fenced(`<!--\n${SHOWN}\n-->\n${REAL}`)],
    ['a fence of XML with something else', `${fenced('<step/>')}\n${fenced(REAL)}`],
    ['one with another name in front', `<directives>\n\n${REAL}`],
    ['one below a quotation sign', `> ${SHOWN}\n\n${REAL}`],
  ])('PAR-05: %s', async (_, text) => {
    expect(await read(text)).toMatchObject({ dialect: 'xml', name: 'd', version: '1.0.0', permissions: null })
  })

  test.each([
    ['in a longer fence', `\`\`\`\`markdown\n${fenced(SHOWN)}\`\`\`\`\n`],
    ['in a fence', fenced(SHOWN)],
    ['bare', SHOWN],
    ['under the same name beside another fence', `${fenced(REAL)}\n\`\`\`sh\nls\n\`\`\`\n`],
    ['under the same name, twice', `${fenced(REAL)}\n${REAL}`],
    ['bare, under the same name', REAL],
  ])('PAR-05: below front matter with a name, one that is %s is text', async (_, body) => {
    const directive = await read(`---\nname: d\nversion: 1.0.0\ndescription: x\n---\n${body}`)
    expect(directive).toMatchObject({ dialect: 'yaml', name: 'd', permissions: null, body: body.trim() })
  })

  test('D1: below front matter with a name, the only fence holds the directive of that name', async () => {
    const text = `---\nname: d\nversion: 2.0.0\n---\n# D\n\n${fenced(REAL.replace('<process>', `${WRITE}<process>`))}`
    expect(await read(text)).toMatchObject({
      dialect: 'xml',
      version: '2.0.0',
      permissions: { name: 'permissions' },
    })
  })

  test('PAR-05: that it is taken as text is said, with its line', async () => {
    const { findings } = await read(`---\nname: d\n---\n${fenced(SHOWN)}`)
    expect(findings).toMatchObject([{ line: 5, message: expect.stringContaining('is text') }])
  })

  test.each([
    ['two that are bare', `${REAL}\n\n${SHOWN}`, 5],
    ['two on one line', '<directive name="d"/> <directive name="shown"/>', 1],
    ['two in fences', `${fenced(REAL)}\n${fenced(SHOWN)}`, 8],
    ['one of each', `${REAL}\n\n${fenced(SHOWN, '~~~')}`, 6],
  ])('PAR-05: %s are a PARSE_ERROR that names both lines', async (_, text, line) => {
    await expect(read(text)).rejects.toMatchObject({
      code: 'PARSE_ERROR',
      message: expect.stringMatching(/several directives, the first in line [12]\b/),
      details: { line },
    })
  })

  test('PAR-05: one that may be a part of a comment is refused', async () => {
    await expect(read(`Text <!-- and\n${SHOWN}\n-->`)).rejects.toMatchObject({
      code: 'PARSE_ERROR',
      message: expect.stringContaining('may be a part of a comment'),
      details: { line: 2 },
    })
  })

  test.each([
    ['on its line', '<!DOCTYPE a [<!ENTITY b "c">]>\n'],
    ['over lines', '<!DOCTYPE a [\n<!ENTITY b "c">\n]>\n'],
    ['without entities', '<!DOCTYPE a>\n'],
  ])('PAR-05: a document type %s in the fence is refused', async (_, type) => {
    await expect(read(fenced(`${type}${REAL}`))).rejects.toMatchObject({
      code: 'PARSE_ERROR',
      message: expect.stringContaining('document type'),
      details: { line: 2 },
    })
  })

  test.each([
    ['a fence of no kind', `# D\n\n\`\`\`\n${SHOWN}\n\`\`\`\n`, 4],
    ['a fence of XML that begins with text', fenced(`Here:\n${SHOWN}`), 3],
  ])('PAR-05: of a directive that is nothing but %s it is said that it is text', async (_, text, line) => {
    expect((await read(text)).findings).toMatchObject([
      { line, message: expect.stringContaining('is text: to be read it stands first in a fence of ```xml') },
    ])
  })

  test.each(['<!-- </example> -->', '<![CDATA[ </example> ]]>'])(
    'PAR-05: %s does not end an example',
    async (end) => {
      const held = `<example>${end}${WRITE}</example>`
      const directive = await read(`<directive name="d"><metadata>${held}</metadata></directive>`)
      expect(directive).toMatchObject({ name: 'd', permissions: null })
    },
  )

  test('D1: steps below the directive are those that are not shown', async () => {
    const empty = '<directive name="d"><metadata/></directive>'
    const process = (name: string): string => `<process><step name="${name}">x</step></process>`
    const text = `${fenced(empty)}\n\`\`\`text\n${process('shown')}\n\`\`\`\n\n${process('meant')}\n`
    expect((await read(text)).steps).toMatchObject([{ name: 'meant' }])
  })
})
