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
    [
      'PAR-04: an entity bomb on the line of the directive',
      '\n<!DOCTYPE x [<!ENTITY a "b"><!ENTITY c "&a;&a;">]><directive name="a">&c;</directive>',
      /it has a document type/,
      2,
    ],
    ['PAR-04: an entity bomb', xml('<!DOCTYPE z [<!ENTITY a "&b;">]>&a;'), /it has a document type/, 2],
    ['a bare sign below a comment about one', xml('<!-- no <!DOCTYPE z> -->\na & b'), /a bare "&"/, 3],
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
      [[4, 2, '<stp name="b"/> is no <step>: read as one: <step> is probably meant']],
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

test('D1: front matter that is never closed is text, and that is said', async () => {
  const { directive } = await parseDirective('---\nname: d\nversion: 1.0.0\n\nDo it\n', ORIGIN)
  expect(directive.body).toContain('Do it')
  expect(directive.findings).toEqual([
    {
      line: 1,
      column: 1,
      message: 'what begins here is never closed, so that it is text: write --- below the last key of it',
    },
  ])
  const ruled = await parseDirective('---\nDo it\n\n---\n', ORIGIN).catch(() => null)
  expect(ruled?.directive.findings ?? []).toEqual([])
})

describe('D1, D2: what would not be what it seems to be is said', () => {
  const findingsIn = async (text: string): Promise<readonly string[]> =>
    (await parseDirective(text, ORIGIN)).directive.findings.map(({ message }) => message)

  test.each([
    [
      'an attribute of a step',
      '<process><step conditon="x">a</step></process>',
      ['<step> has no attribute "conditon": without effect: "condition" is probably meant'],
    ],
    [
      'a part of a step that is misspelt',
      '<process><step><aktion>a</aktion><toolcall tool="t"><param name="p">v</param></toolcall><note>kept</note></step></process>',
      [
        '<aktion/> is read as text: <action> is probably meant',
        '<toolcall tool="t">... is read as text: <tool_call> is probably meant',
      ],
    ],
    [
      'a tool that is misspelt, or none',
      '<tools><scripts name="a"/><browser/><shell commands="git"/><shell commands="git,npm"/></tools>',
      [
        '<scripts name="a"/> is no tool that can be wanted: left out: <script> is probably meant',
        '<browser/> is no tool that can be wanted: left out',
      ],
    ],
    [
      'a placeholder in a condition',
      '<process><step condition="{x} is set">a</step></process>',
      ['{x} is no input of it: it stays as it is written'],
    ],
    [
      'a placeholder that is misspelt',
      '<inputs><input name="topic"/></inputs><process><step>{topik}</step></process>',
      ['{topik} is no input of it: it stays as it is written: {topic} is probably meant'],
    ],
    [
      'a name that no placeholder can have',
      '<inputs><input name="api.key"/></inputs>',
      [
        'the input "api.key" cannot be filled in by its name: use letters, digits, "_" and "-", a letter first',
      ],
    ],
    [
      'a type that is misspelt',
      '<inputs><input name="a" type="strng"/></inputs>',
      ['the type "strng" of the input "a" is not known: it is read as a text: "string" is probably meant'],
    ],
    [
      'another type',
      '<inputs><input name="a" type="date"/></inputs>',
      [
        'the type "date" of the input "a" is not known: it is read as a text: it may be string, number, integer, boolean, array, object',
      ],
    ],
    [
      'what a call does not take',
      '<process><step><tool_call tool="t" path="a"><param>v</param><param name="p">v</param><param name="p">w</param></tool_call></step></process>',
      [
        '<tool_call> has no attribute "path": a parameter is <param name="path">',
        '<param> names no parameter: it is left out',
        'the parameter "p" is given twice: this one counts',
      ],
    ],
  ])('D1: %s', async (_, inner, messages) => {
    expect(await findingsIn(xml(inner))).toEqual(messages)
  })

  test('D11: a key that a call in YAML does not have', async () => {
    const steps = 'steps:\n  - {name: a, calls: [{tool: t, args: {path: x}}]}'
    expect(await findingsIn(`---\nname: d\n${steps}\n---\n`)).toEqual([
      'a call has no key "args": without effect: it has "tool", "mcp" and "parameters"',
    ])
  })

  test('D1, D2: a placeholder that YAML takes for a mapping, and a key of a step', async () => {
    const steps =
      'steps:\n  - {name: a, calls: [{tool: t, parameters: {path: {x}, other: {y}}}]}\n  - {acton: b}'
    expect(await findingsIn(`---\nname: d\ninputs: [{name: x}]\n${steps}\n---\n`)).toEqual([
      'a step has no key "acton": without effect: "action" is probably meant',
      '{x} is not in quotes, and so no placeholder: write "{x}"',
    ])
  })

  test('D1: a relation that is none', async () => {
    const inner = '<relationships><require directive="a"/><suggests/><related>b</related></relationships>'
    expect(await findingsIn(xml(inner))).toEqual([
      '<require directive="a"/> is no relation: left out: <requires> is probably meant',
      '<suggests/> names no directive: left out',
    ])
    expect(
      await findingsIn('---\nname: d\nsteps: [a]\nrelationships: {require: [a], related: [b]}\n---\n'),
    ).toEqual(['"require" is no relation: left out: "requires" is probably meant'])
  })

  test('D2: an input with a default need not be given', async () => {
    const { directive } = await parseDirective(
      xml('<inputs><input name="a" required="true" default="b"/></inputs>'),
      ORIGIN,
    )
    expect(directive.inputs).toMatchObject([{ name: 'a', required: false, default: 'b' }])
  })

  test('D1: what is not known in a step is handed over with its attributes', async () => {
    const inner =
      '<process><step><check file="a&amp;b" of="{x}"/><note level="high">look</note><hr/></step></process>'
    const { directive } = await parseDirective(xml(inner), ORIGIN)
    expect(directive.steps[0]?.action).toBe(
      '<check file="a&amp;b" of="{x}"/><note level="high">look</note><hr/>',
    )
  })

  test('D3, R7: a server that is named twice is wanted with all that is said of it', async () => {
    const inner =
      '<mcps><mcp name="s" tools="a" alias="q">for a</mcp></mcps><tools><mcp name="mcp_s" required="true" refresh="true" alias="r"><tool>b</tool></mcp><mcp name="t" tools="a"/><mcp name="t" proxy="false"/></tools>'
    const { directive } = await parseDirective(xml(inner), ORIGIN)
    expect(directive.wanted.servers).toMatchObject([
      { name: 's', tools: ['a', 'b'], alias: 'q', required: true, refresh: true, proxy: true, why: 'for a' },
      { name: 't', tools: null, alias: null, required: false, proxy: false },
    ])
    expect(directive.findings.map(({ message }) => message)).toEqual([
      'the server "mcp_s" has the alias "q" since line 2: "r" is left out',
    ])
  })
})
