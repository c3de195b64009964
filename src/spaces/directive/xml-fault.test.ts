import { describe, expect, test } from 'vitest'
import { KiwiError } from '../../shared/errors.ts'
import { parseDirective } from './parse-directive.ts'
import { repairText } from './repair-text.ts'

const ORIGIN = { where: 'd.md', stem: 'd', isSkill: false }
const within = (line: string): string =>
  `# D\n\n\`\`\`xml\n<directive name="d" version="1.0.0">\n<process>\n${line}\n</process>\n</directive>\n\`\`\`\n`

async function faultIn(text: string): Promise<KiwiError> {
  const error = await parseDirective(text, ORIGIN).catch((reason: unknown) => reason)
  if (error instanceof KiwiError) return error
  throw new TypeError('it was read')
}

describe('D1: what is wrong is said with the place where it begins, and what to do', () => {
  test.each<[string, string, string, string]>([
    [
      'an attribute twice',
      '<step name="a" name="b">x</step>',
      '16: duplicate attribute: name',
      'Write each attribute of an element once',
    ],
    [
      'an attribute without a value',
      '<step name>x</step>',
      '7: the attribute "name" has no value',
      'Write name="..."',
    ],
    [
      'an element that is not closed',
      '<step><action>x</step>',
      '7: <action> is never closed',
      'Write </action> where it ends, or &lt;action where it is text',
    ],
    [
      'a word that looks like one',
      '<step>List<String> x</step>',
      '11: <String> is never closed',
      'Write </String> where it ends, or &lt;String where it is text',
    ],
    [
      'a closing tag of something else',
      '<step>x</stepp>',
      '8: </stepp> closes nothing that is open',
      'Write </step>, or remove it',
    ],
    [
      'a quotation that goes on',
      '<step><![CDATA[ x ]]</step>',
      '7: <![CDATA[ is never closed',
      'Write ]]> where it ends',
    ],
    ['a comment that goes on', '<step>x</step><!-- y', '15: <!-- is never closed', 'Write --> where it ends'],
    [
      'dashes in a comment',
      '<!-- a -- b --><step>x</step>',
      '8: there is "--" within a comment',
      'Write - or a dash in place of it: -- only ends a comment',
    ],
    [
      'quotes that are not closed',
      '<step name="a><action>x</action></step>',
      '12: the quotes of an attribute are never closed',
      'Write " behind its value',
    ],
  ])('D1: %s', async (_, line, said, hint) => {
    const error = await faultIn(within(line))
    const [column = '', reason = ''] = said.split(/: (.*)/)
    expect(error.message).toBe(`Cannot read "d.md": ${reason} (line 6, column ${column})`)
    expect(error.hint).toBe(hint)
    expect(error.details).toEqual({ line: 6, column: Number(column) })
  })

  test.each<[string, string, string, string]>([
    [
      'a value in no quotes',
      '<step name=a>x</step>',
      '12: the value of an attribute is not in quotes',
      '<step name="a">x</step>',
    ],
    [
      'a value in curly quotes',
      '<step name=“a b”>x</step>',
      '12: the value of an attribute is not in quotes',
      '<step name="a b">x</step>',
    ],
    [
      'an address',
      '<step>mail <ada@example.org></step>',
      '12: a bare "<" is not text: it begins no element',
      '<step>mail &lt;ada@example.org></step>',
    ],
    [
      'a number that stands for no sign',
      '<step>a &#0; b</step>',
      '9: a bare "&" is not text: it stands for no sign',
      '<step>a &amp;#0; b</step>',
    ],
    ['the end of a quotation', '<step>a ]]> b</step>', '9: "]]>" is not text', '<step>a ]]&gt; b</step>'],
    [
      'a sign that cannot be written',
      '<step>a\u0001b</step>',
      '8: XML cannot hold the sign U+0001',
      '<step>ab</step>',
    ],
  ])('D1: %s comes with the line as it should be', async (_, line, said, repaired) => {
    const error = await faultIn(within(line))
    const [column = '', reason = ''] = said.split(/: (.*)/)
    expect(error.message).toBe(`Cannot read "d.md": ${reason} (line 6, column ${column})`)
    expect(error.hint).toBe(`Write line 6 as: ${repaired} (kiwi check --fix does that)`)
    expect(await repairText(within(line), ORIGIN)).toEqual({ text: within(repaired), lines: [6] })
  })

  test.each([
    ['a<b', 'a&lt;b'],
    ['x <y', 'x &lt;y'],
    ['if a<b then stop', 'if a&lt;b then stop'],
    ['while i<n do', 'while i&lt;n do'],
    ['i<n; i++', 'i&lt;n; i++'],
    ['a<b && c=="d"', 'a&lt;b &amp;&amp; c=="d"'],
    ['a<s and b<process', 'a&lt;s and b&lt;process'],
    ['say "a<b" x=y', 'say "a&lt;b" x=y'],
    ['a<b = c', 'a&lt;b = c'],
  ])('D1: in "%s" the sign is text, and mended', async (words, mended) => {
    const line = (said: string): string => `<step><action>${said}</action></step>`
    const error = await faultIn(within(line(words)))
    const column = line(words).indexOf(words) + words.indexOf('<') + 1
    expect(error.message).toBe(
      `Cannot read "d.md": a bare "<" is not text: it begins no element (line 6, column ${column})`,
    )
    expect(error.hint).toBe(`Write line 6 as: ${line(mended)} (kiwi check --fix does that)`)
    expect(await repairText(within(line(words)), ORIGIN)).toEqual({ text: within(line(mended)), lines: [6] })
  })

  test('D1: as many of them as there are lines are mended at once, and what holds any sign is left', async () => {
    const held = '<raw>a<b</raw><![CDATA[a<b]]><!-- a<b --> <b>a</b>'
    const text = (sign: string): string => within(`<step>${`while i${sign}n do\n`.repeat(100)}${held}</step>`)
    const { text: repaired, lines } = await repairText(text('<'), ORIGIN)
    expect(repaired).toBe(text('&lt;'))
    expect(lines).toHaveLength(100)
  })

  test.each([
    ['<step name="a" <b>x</b></step>', 1, 'the tag <step is never ended'],
    ['<step<b>x</b></step>', 1, 'the tag <step is never ended'],
    ['<step>a<b <b>x</b></step>', 8, 'the tag <b is never ended'],
    ['<deny a="b" c="d" </step>', 1, 'the tag <deny is never ended'],
  ])('D1: whether %s lacks an end or is text, its author is asked', async (line, column, reason) => {
    const error = await faultIn(within(line))
    const [, tag = ''] = reason.split('<').map((part) => part.split(' ')[0])
    expect(error.message).toBe(`Cannot read "d.md": ${reason} (line 6, column ${column})`)
    expect(error.hint).toBe(`Write > where it ends, or &lt;${tag} where it is text`)
    await expect(repairText(within(line), ORIGIN)).rejects.toThrow(reason)
  })

  test('D1: words up to the next ">" may be attributes or a text: both are said', async () => {
    const { hint } = await faultIn(within('<step>if a<s and c>d</step>'))
    expect(hint).toBe('Write and="...", or &lt;s where it is text')
  })

  test('D1: a value that no quotes would help is told how one is written', async () => {
    expect((await faultIn(within('<step name=>x</step>'))).hint).toBe('Write it as name="value"')
  })

  test('D1: several of them are written anew one after the other', async () => {
    const text = within('<step name=a>\n<ada@example.org> & co.\n</step>')
    const { lines, text: repaired } = await repairText(text, ORIGIN)
    expect(lines).toEqual([6, 7])
    expect(repaired).toBe(within('<step name="a">\n&lt;ada@example.org> &amp; co.\n</step>'))
  })
})
