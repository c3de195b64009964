import { describe, expect, test } from 'vitest'
import { parseDirective } from './parse-directive.ts'
import { repairText } from './repair-text.ts'

const ORIGIN = { where: 'd.md', stem: 'd', isSkill: false }
const inside = (text: string): string => `<directive name="d">${text}</directive>`

const read = (text: string): Promise<unknown> => parseDirective(text, ORIGIN).catch((error: unknown) => error)
const repair = (text: string): Promise<unknown> => repairText(text, ORIGIN).catch((error: unknown) => error)

/** The least of some: whatever else the machine does only adds to it. */
async function leastMs(work: () => Promise<unknown>): Promise<number> {
  let least = Infinity
  for (let tries = 0; tries < 3; tries++) {
    const from = performance.now()
    await work()
    least = Math.min(least, performance.now() - from)
  }
  return least
}

describe('PAR-02: a text of eight times the length takes no more than its share', () => {
  test.each<[string, (many: number) => string, typeof read]>([
    ['blanks', (many) => `${' '.repeat(many * 8)}x`, read],
    ['blanks above a directive', (many) => `a\n${' '.repeat(many * 8)}x\n${inside('')}`, read],
    ['a heading of blanks', (many) => `# ${' '.repeat(many * 8)}x`, read],
    ['empty lines below a sign of headings', (many) => `#${'\n'.repeat(many * 8)}`, read],
    ['a placeholder of blanks', (many) => inside(`<process>\${${' '.repeat(many * 7)}</process>`), read],
    ['children of one name', (many) => inside(`<foo>${'<a/>'.repeat(many)}</foo>`), read],
    ['lines of a step', (many) => inside(`<process>${'a\n'.repeat(many * 3)}</process>`), read],
    ['comments without an end', (many) => '```xml\n<!--\n```\n'.repeat(many / 2), read],
    ['comments within lines', (many) => 'x <!--\n'.repeat(many), read],
    ['comments in texts', (many) => inside('<raw><!--</raw>'.repeat(many / 2)), read],
    ['declarations', (many) => '<?\n'.repeat(many * 2), read],
    ['attributes of one name', (many) => inside(`<a ${'b="1" '.repeat(many)}/>`), read],
    ['a long name without a value', (many) => inside(`<a b="${'c'.repeat(many * 7)}" d>`), read],
    ['signs to repair', (many) => inside('<a>&</a>\n'.repeat(many)), repair],
    ['signs to repair in one line', (many) => inside('<a>&</a>'.repeat(many)), repair],
    ['words behind such signs', (many) => inside('<a>b<c d</a>\n'.repeat(many / 2)), repair],
    ['words behind such signs in one line', (many) => inside(`<a>${'b<c =d '.repeat(many)}</a>`), repair],
    ['a long word behind such a sign', (many) => inside(`<a>b<${'c'.repeat(many * 7)}</a>`), repair],
    ['signs of equality behind such a sign', (many) => inside(`<a>b<c ${'='.repeat(many * 7)}></a>`), repair],
    ['blanks behind such a sign', (many) => inside(`<a>b<c${' = '.repeat(many * 2)}></a>`), repair],
    ['text between elements', (many) => inside(`<process>${'a <b/>'.repeat(many)}</process>`), read],
    ['signs to repair in attributes', (many) => inside('<a b="1<2"/>\n'.repeat(many / 2)), repair],
  ])('PAR-02: %s', { timeout: 60_000 }, async (_, text, work) => {
    const few = await leastMs(() => work(text(3000)))
    const many = await leastMs(() => work(text(24_000)))
    // Of what grows with the square there would be 64 times as much; a few milliseconds are nobody's.
    expect(many).toBeLessThan(32 * Math.max(few, 5))
  })

  test(
    'D1: to repair as many lines as may be takes a few readings, and not one for each',
    { timeout: 60_000 },
    async () => {
      const lines = (sign: string, value: string): string =>
        inside(
          `<process>\n${`<step name="${value}">a ${sign} b ${'x'.repeat(900)}</step>\n`.repeat(200)}</process>`,
        )
      const clean = lines('&amp;', '1&lt;2')
      const { text, lines: written } = await repairText(lines('&', '1<2'), ORIGIN)
      expect(written).toHaveLength(200)
      expect(text).toBe(clean)
      const reading = await leastMs(() => read(clean))
      expect(await leastMs(() => repair(lines('&', '1<2')))).toBeLessThan(12 * Math.max(reading, 5))
    },
  )

  test('PAR-02: 125,000 lines are a text like any other', async () => {
    const { directive } = await parseDirective(inside(`<process>${'a\n'.repeat(125_000)}</process>`), ORIGIN)
    expect(directive.steps[0]?.action).toHaveLength(249_999)
  })
})
