import { describe, expect, test } from 'vitest'
import type { Directive } from './model.ts'
import { parseDirective } from './parse-directive.ts'

const ORIGIN = { where: 'd.md', stem: 'd', isSkill: false }

async function read(inner: string): Promise<Directive> {
  const text = `<directive name="d" version="1.0.0">\n${inner}\n</directive>\n`
  return (await parseDirective(text, ORIGIN)).directive
}

const messages = ({ findings }: Directive): readonly string[] => findings.map(({ message }) => message)

describe('D1: words beside markup', () => {
  test('D1, D12: a step is handed over in the order and the form in which it was written', async () => {
    const { steps, findings } = await read(`<process>
      <step name="one">Run <code>npm test</code> before <code>npm publish</code>, never after.</step>
      <step name="two"><description>Check <em>all</em> of it</description><action>Do <b>not</b> skip</action> and stop</step>
      <step name="three">First a &lt; b.<tool_call tool="t"/> Then <i>c &lt; d</i>
        or
          this.</step>
      <step name="four"><action>Ask. <!-- no --> <tool_call tool="t"/> Go <b>on</b>.</action><!-- no --></step>
    </process>`)
    expect(steps).toMatchObject([
      { action: 'Run <code>npm test</code> before <code>npm publish</code>, never after.', calls: [] },
      { description: 'Check <em>all</em> of it', action: 'Do <b>not</b> skip\nand stop' },
      { action: 'First a < b.\nThen <i>c &lt; d</i>\nor\n  this.', calls: [{ tool: 't' }] },
      { action: 'Ask.\nGo <b>on</b>.', calls: [{ tool: 't' }] },
    ])
    expect(findings).toEqual([])
  })

  test('D1, D12: what stands between the steps is a step in its place', async () => {
    const directive = await read(`<process>
      Never <b>touch</b> production.
      <!-- the first -->
      <step name="one">x</step>
      Wait for {who}.
      <step name="two">y</step>
      <tool_call tool="t"/>
    </process>`)
    expect(directive.steps).toMatchObject([
      { name: null, action: 'Never <b>touch</b> production.' },
      { name: 'one' },
      { name: null, action: 'Wait for {who}.' },
      { name: 'two' },
      { name: null, action: null, calls: [{ tool: 't' }] },
    ])
    expect(messages(directive)).toEqual([
      '<tool_call tool="t"/> is no <step>: read as one',
      '{who} is no input of it: it stays as it is written',
    ])
  })

  test('D1: several descriptions of a step are all handed over', async () => {
    const { steps } = await read(
      '<process><step><description>a</description>x<description>b</description></step></process>',
    )
    expect(steps).toMatchObject([{ description: 'a\nb', action: 'x' }])
  })

  test('D1, D2: descriptions, reasons and what is kept have all their words', async () => {
    const directive = await read(`<metadata>
      <description>Ship the <b>web shop</b>
        to staging</description>
      <model tier="fast">Needs <b>deep</b> thought</model>
      <mcps><mcp name="m">For <b>all</b> <tool>t</tool> of it</mcp></mcps>
      <hooks><hook when="x">Then <i>y</i> z</hook></hooks></metadata>
      <inputs>
        <input name="a">Path such as <code>src/a.ts</code> of it</input>
        <input name="b"><description>A <b>b</b></description></input>
        <input name="c"><description>A</description><code>b</code></input>
      </inputs>
      <outputs><output name="o">The <b>sum</b></output></outputs>
      For all steps.`)
    expect(directive).toMatchObject({
      description: 'Ship the <b>web shop</b> to staging',
      inputs: [
        { description: 'Path such as <code>src/a.ts</code> of it' },
        { description: 'A <b>b</b>' },
        { description: '<description>A</description><code>b</code>' },
      ],
      more: {
        model: { tier: 'fast', reason: 'Needs <b>deep</b> thought' },
        hooks: { hook: { when: 'x', text: 'Then <i>y</i> z' } },
        outputs: [{ name: 'o', description: 'The <b>sum</b>' }],
      },
      wanted: { servers: [{ name: 'm', tools: ['t'], why: 'For <b>all</b> of it' }] },
      body: 'For all steps.',
      findings: [],
    })
    expect((await read('<outputs>Say <success>Done</success></outputs>')).more).toEqual({
      outputs: 'Say <success>Done</success>',
    })
  })

  test('D2: paths are also read where they stand as a text: no more is wanted than that', async () => {
    const { wanted } = await read(
      '<tools><filesystem><read>src/**, docs/*.md</read><write/></filesystem></tools>',
    )
    expect(wanted.filesystem).toEqual({ read: ['src/**', 'docs/*.md'], write: ['**/*'] })
  })

  test('D1: both descriptions count, and so do relations above it', async () => {
    const text =
      '---\nrelationships: {requires: [a]}\n---\n<directive name="d" version="1.0.0"><metadata><description>One.</description>' +
      '<description>Two.</description></metadata><relationships><suggests directive="b"/></relationships></directive>'
    const { directive } = await parseDirective(text, ORIGIN)
    expect(directive.description).toBe('One. Two.')
    expect(directive.relations).toEqual([
      { kind: 'requires', directive: 'a' },
      { kind: 'suggests', directive: 'b' },
    ])
    const wrong = parseDirective(text.replace('{requires: [a]}', '5'), ORIGIN)
    await expect(wrong).rejects.toMatchObject({ code: 'PARSE_ERROR', details: { line: 2 } })
  })

  test('D11: a parameter is a text with its markup, or parts where there are no words between them', async () => {
    const { steps } = await read(
      '<process><step><tool_call tool="t"><param name="a">Use <b>x</b> y</param><c>One <b>x</b></c>' +
        '<param name="d"><e>1</e><f>t <i>u</i></f></param></tool_call></step></process>',
    )
    const parameters = { a: 'Use <b>x</b> y', c: 'One <b>x</b>', d: { e: '1', f: 't <i>u</i>' } }
    expect(steps[0]?.calls).toEqual([{ tool: 't', parameters }])
  })

  test.each([
    [
      '<metadata>a\n b<author>c</author></metadata>',
      '"a b" in <metadata>',
      'put it into <description> or <process>',
    ],
    ['<inputs>a<input name="b"/></inputs>', '"a" in <inputs>', 'an input is <input name="...">'],
    ['<tools>a</tools>', '"a" in <tools>', 'a tool is named as in <mcp name="...">'],
    ['<limits>20</limits>', '"20" in <limits>', 'a limit is <turns>20</turns>'],
    [
      '<process><step><tool_calls>a<call tool="t"/></tool_calls></step></process>',
      '"a" in <tool_calls>',
      'put it beside <tool_calls>',
    ],
    [
      '<process><step><search>birds</search></step></process>',
      '"birds" in <search>',
      'put it beside the call, or make it a parameter: <param name="...">',
    ],
    [
      '<process><step><call tool="t"><param name="a" value="b">c</param></call></step></process>',
      '"c" in <param>',
      'its value is "b"',
    ],
  ])('D1: words where none are read are said, with where to put them: %s', async (inner, words, instead) => {
    expect(messages(await read(inner))).toEqual([`the text ${words} is left out: ${instead}`])
  })

  test('D1: dots stand for what is not shown', async () => {
    expect(await read('<metadata/>\n...')).toMatchObject({ body: '', findings: [] })
  })
})
