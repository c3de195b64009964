import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { KiwiError } from '../../shared/errors.ts'
import { parseDirective } from './parse-directive.ts'
import { repairText } from './repair-text.ts'

const ORIGIN = { where: 'd.md', stem: 'd', isSkill: false }
const xml = (inner: string): string => `<directive name="d" version="1.0.0">\n${inner}\n</directive>\n`

describe('the text of a directive', () => {
  test.each([
    [
      'PAR-04: a DOCTYPE',
      '<!DOCTYPE x [<!ENTITY a "b">]>\n<directive name="a"></directive>',
      /document type/,
      1,
    ],
    ['PAR-04: an entity bomb', xml('<!DOCTYPE z [<!ENTITY a "&b;">]>&a;'), /./, 2],
    [
      'PAR-05: permissions twice',
      xml('<permissions/>\n<metadata><permissions/></metadata>'),
      /several <permissions>/,
      2,
    ],
    [
      'an input twice',
      xml('<inputs><input name="a"/>\n<input name="a"/></inputs>'),
      /declared twice, first in line 2/,
      3,
    ],
    ['no end', 'x\n<directive name="d">', /never closed/, 2],
    ['PAR-01: a YAML alias', '---\na: &x 1\nb: *x\n---\n', /alias/, 3],
    ['a key twice', '---\nname: d\nname: e\n---\n', /twice/, 3],
    ['YAML that is too deep', `---\na: ${'['.repeat(100)}\n---\n`, /nested deeper/, 2],
    ['5 MB', xml(`<process>${'x'.repeat(5_000_000)}</process>`), /larger than/, 1],
  ])('%s is a PARSE_ERROR with its place', async (_, text, reason, line) => {
    await expect(parseDirective(text, ORIGIN)).rejects.toMatchObject({
      code: 'PARSE_ERROR',
      message: expect.stringMatching(reason),
      details: { line, column: expect.any(Number) },
    })
  })

  test('D1: front matter says more than XML of what every item has, and its own keys make it the directive', async () => {
    const body = xml('<metadata><description>x</description></metadata>')
    const over = await parseDirective(`---\ndescription: y\ntags: [a]\n---\n${body}`, ORIGIN)
    expect(over.directive).toMatchObject({ dialect: 'xml', description: 'y', version: '1.0.0' })
    const own = await parseDirective(`---\ninputs: [{name: a}]\n---\n${body}`, ORIGIN)
    expect(own.directive).toMatchObject({ dialect: 'yaml', body: body.trim(), inputs: [{ name: 'a' }] })
  })

  test.each([
    [
      xml('<process>\n<step name="a">x</step>\n <stp name="b">y</stp></process>'),
      [[4, 2, '<stp name="b"/> is no <step>: left out: <step> is probably meant']],
    ],
    [xml('<process><stp>y</stp></process>'), [[2, 10, '<stp/> is no <step>: <step> is probably meant']]],
    [
      xml('<inputs>\n<input name="a" requird="true"/><inpt name="b"/></inputs>'),
      [
        [3, 33, '<inpt name="b"/> is no <input>: left out'],
        [3, 1, '"requird" of the input "a" is not known: without effect: "required" is probably meant'],
      ],
    ],
    [
      xml('<permision><execute/></permision>'),
      [[2, 1, '<permision>... is not known: kept, without effect: <permissions> is probably meant']],
    ],
    [
      '---\nname: d\npermission: [x]\ncontinuation: 1\n---\nDo it',
      [[3, 1, '"permission" is not known: kept, without effect: "permissions" is probably meant']],
    ],
    [
      `---\npermision: [x]\n---\n${xml('')}`,
      [[2, 1, '"permision" is not known: kept, without effect: "permissions" is probably meant']],
    ],
    [
      '---\ninputs:\n  a: {typ: string, minimum: 1}\n---\n',
      [[3, 3, '"typ" of the input "a" is not known: without effect: "type" is probably meant']],
    ],
  ])('D1: what is not known is said with its place, and what was probably meant: %j', async (text, said) => {
    const { directive } = await parseDirective(text, ORIGIN)
    expect(directive.findings.map(({ line, column, message }) => [line, column, message])).toEqual(said)
  })

  test('D1: a directive in a comment or within a line is text', async () => {
    const { directive } = await parseDirective(
      '<!-- <directive> -->\nWrite `<directive name="x">` there',
      ORIGIN,
    )
    expect(directive).toMatchObject({ dialect: 'yaml', name: 'd', permissions: null })
  })

  test('PAR-02, fuzz: any text is a directive or a PARSE_ERROR', async () => {
    const piece = fc.constantFrom(
      '---\n',
      'inputs:\n',
      '- {name: a}\n',
      'permissions: ',
      '[',
      '{',
      '<directive name="d">',
      '</directive>',
      '<process>',
      '</process>',
      '<step name="a">',
      '</step>',
      '<permissions>',
      '<inputs>',
      '<input name="__proto__"/>',
      '<param name="constructor">',
      '```xml\n',
      '```\n',
      '&',
      '<',
      '文',
      '\u202E',
      '\uFEFF',
      '\0',
      '# T\n',
      'steps: 1\n',
      'tools: {a: 1}\n',
      'requires: {capabilities: {declared: [1]}}\n',
      'limits: x\n',
    )
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(piece, fc.string({ unit: 'binary' })), { maxLength: 40 }),
        fc.boolean(),
        async (parts, isSkill) => {
          const failed: unknown = await parseDirective(parts.join(''), { ...ORIGIN, isSkill }).then(
            () => null,
            (error: unknown) => error,
          )
          if (failed === null) return
          expect(failed).toBeInstanceOf(KiwiError)
          expect(failed).toMatchObject({ code: 'PARSE_ERROR', details: { line: expect.any(Number) } })
        },
      ),
      { numRuns: 500 },
    )
  })
})

describe('D1: repair', () => {
  test('D1: bare signs are written as text, line by line, and nothing else is touched', async () => {
    const text =
      xml(
        '<process><step>a & b\r\n1 < 2 && <![CDATA[ & ]]> <raw>&</raw>\r\n</step>\n<step condition="a<b"/></process>',
      ) + '\nbelow & <'
    const { text: repaired, lines } = await repairText(text, ORIGIN)
    expect(lines).toEqual([2, 3, 5])
    expect(repaired).toBe(
      xml(
        '<process><step>a &amp; b\r\n1 &lt; 2 &amp;&amp; <![CDATA[ & ]]> <raw>&</raw>\r\n</step>\n<step condition="a&lt;b"/></process>',
      ) + '\nbelow & <',
    )
    expect(await repairText(repaired, ORIGIN)).toEqual({ text: repaired, lines: [] })
  })

  test('D1: what is wrong otherwise is left to its author', async () => {
    await expect(repairText(xml('<process>a & b'), ORIGIN)).rejects.toMatchObject({
      message: expect.stringContaining('<process> is never closed'),
    })
  })
})
