import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { KiwiError } from '../../shared/errors.ts'
import { readXml } from './read-xml.ts'

describe('XML of a directive', () => {
  test('D1: elements, attributes and texts are read with their lines and columns', async () => {
    const text = 'x\n <a b="1 &amp; 2">\n  <c> y </c> <![CDATA[<z>]]>\n</a> & below'
    const { root, end } = await readXml(text, 'd', text.indexOf('<a'))
    expect(root).toMatchObject({
      name: 'a',
      attributes: { b: '1 & 2' },
      text: '<z>',
      line: 2,
      column: 2,
      children: [{ name: 'c', text: 'y', inner: ' y ', line: 3, column: 3 }],
    })
    expect(text.slice(end)).toBe(' & below')
  })

  test('D1: what stands in template, example and raw is text, whatever it looks like', async () => {
    const inner = 'a & <b> ``` </directive> <raw>x</raw>'
    const { root } = await readXml(
      `<s><raw k="</raw>">${inner}</raw><c/></s>`.replace(' k="</raw>"', ''),
      'd',
    )
    expect(root.children).toMatchObject([{ name: 'raw', text: inner }, { name: 'c' }])
    const { root: quoted } = await readXml('<s><!-- <raw> --><![CDATA[<raw>]]><c/></s>', 'd')
    expect(quoted).toMatchObject({ text: '<raw>', children: [{ name: 'c' }] })
  })

  test.each([
    ['PAR-04: a document type', '<a>\n<!DOCTYPE x></a>', /./, 2],
    ['PAR-04: an entity of its own', '<a>\n&lol;</a>', /the entity "&lol;" is not known/, 2],
    ['PAR-05: an attribute twice', '<a\n b="1" b="2"/>', /duplicate attribute/, 2],
    ['PAR-05: an element that is never closed', '<a>\n<b>x\n</a>', /<b> is never closed/, 2],
    ['an end without a beginning', '<a></b></a>', /./, 1],
    ['no end', '<a>', /./, 1],
    ['nothing', '', /./, 1],
    ['no quotes', '<a b=1/>', /not in quotes/, 1],
    ['PAR-06: a name that reaches a prototype', '<a><constructor/></a>', /not allowed as a name/, 1],
    ['PAR-06: an attribute that does', '<a __proto__="x"/>', /not allowed as a name/, 1],
    ['PAR-02: a hundred thousand levels', '<a>'.repeat(100_000), /nested deeper than 64/, 1],
  ])('%s is refused, with its line', async (_, text, reason, line) => {
    await expect(readXml(text, 'd')).rejects.toMatchObject({
      code: 'PARSE_ERROR',
      message: expect.stringMatching(reason),
      details: { line, column: expect.any(Number) },
    })
  })

  test.each([
    ['<a>x & y</a>', 6, '<a>x &amp; y</a>'],
    ['<a>1 < 2 & 3</a>', 6, '<a>1 &lt; 2 &amp; 3</a>'],
    ['<a b="x<y"/>', 8, '<a b="x&lt;y"/>'],
    ['<a>x && <![CDATA[ & ]]></a>', 6, '<a>x &amp;&amp; <![CDATA[ & ]]></a>'],
    ['<a>&copy;</a>', 4, '<a>&amp;copy;</a>'],
  ])('D1: %j is refused with the line that would do', async (text, column, repaired) => {
    await expect(readXml(`<z>\n${text}\r\n</z>`, 'd')).rejects.toMatchObject({
      hint: expect.stringContaining(repaired),
      details: { line: 2, column, repaired },
    })
  })

  test('PAR-02, fuzz: any text is read or refused with a place, in a time that its length bounds', async () => {
    const piece = fc.constantFrom(
      '<a>',
      '</a>',
      '<raw>',
      '</raw>',
      '<!--',
      '-->',
      '<![CDATA[',
      ']]>',
      '&',
      '<',
      '"',
      "'",
      ' b="',
      '\n',
      '文',
      '\u202E',
      '🥝',
      '&amp;',
      '<template x="',
      '/>',
    )
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(piece, fc.string()), { maxLength: 60 }), async (parts) => {
        const failed: unknown = await readXml(`<a>${parts.join('')}`, 'd').then(
          () => null,
          (error: unknown) => error,
        )
        if (failed === null) return
        expect(failed).toBeInstanceOf(KiwiError)
        expect(failed).toMatchObject({ code: 'PARSE_ERROR', details: { line: expect.any(Number) } })
      }),
      { numRuns: 300 },
    )
    for (const part of ['<!--', '<![CDATA[', '<raw "', '<raw>', '&', '<template>', '<a b="'])
      await expect(readXml(`<a>${part.repeat(20_000)}`, 'd')).rejects.toMatchObject({ code: 'PARSE_ERROR' })
  })
})

test.each([
  ['<a b="1" b="2"/>', 'Write each attribute of an element once'],
  ['<a>'.repeat(100), 'Put less into each other: a step holds its calls, and a call its parameters'],
  ['<a><__proto__/></a>', 'Use another name'],
  ['<a><b></a>', 'Write </b> where it ends, or &lt;b where it is text'],
  ['<a><b></c></b></a>', 'Write </b>, or remove it'],
])('D1: the hint for %s is about what is wrong', async (text, hint) => {
  await expect(readXml(text, 'd.md')).rejects.toMatchObject({ code: 'PARSE_ERROR', hint })
})
