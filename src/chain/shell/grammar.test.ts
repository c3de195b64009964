import { array, assert, constantFrom, property, record, string } from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Line } from './grammar.ts'
import { compileLine, printLine } from './grammar.ts'

const one = (...argv: readonly string[]): Line => [{ joint: ';', pipeline: [argv] }]

test.each([
  ['git status', one('git', 'status')],
  ["git commit -m 'fix: a; b | c && $d'", one('git', 'commit', '-m', 'fix: a; b | c && $d')],
  ['echo "it\'s" a"b"\'c\'', one('echo', "it's", 'abc')],
  ['echo \'\' ""', one('echo', '', '')],
  ['git log HEAD~2 HEAD^ a@b %x', one('git', 'log', 'HEAD~2', 'HEAD^', 'a@b', '%x')],
  ['  ls\t-l  ', one('ls', '-l')],
  ["printf 'a\nb'", one('printf', 'a\nb')],
  ['./größe.sh', one('./größe.sh')],
  ["'if' x", one('if', 'x')],
])('H5: %j is one command', (text, line) => {
  expect(compileLine(text)).toEqual(line)
})

test('H5: operators join pipelines in order', () => {
  expect(compileLine('a | b && c || d; e\n\nf &&\n g;')).toEqual([
    { joint: ';', pipeline: [['a'], ['b']] },
    { joint: '&&', pipeline: [['c']] },
    { joint: '||', pipeline: [['d']] },
    { joint: ';', pipeline: [['e']] },
    { joint: ';', pipeline: [['f']] },
    { joint: '&&', pipeline: [['g']] },
  ])
})

/** What a shell does more with, and a reader may overlook. */
const HOSTILE: readonly (readonly [string, string, number])[] = [
  ['echo $(rm -rf x)', '"$"', 6],
  ['echo `id`', '"`"', 6],
  ['echo "$(id)"', '"$" in double quotes', 7],
  ['echo "`id`"', '"`" in double quotes', 7],
  ['echo "a\\"; id; \\""', '"\\" in double quotes', 8],
  ['echo "!!"', '"!" in double quotes', 7],
  ['git status & rm -rf x', '"&"', 12],
  ['git status &', '"&"', 12],
  ['git log |& sh', '"&"', 10],
  ['git log > /etc/passwd', '">"', 9],
  ['git log >> x', '">"', 9],
  ['sh < script', '"<"', 4],
  ['cat <<EOF\nrm\nEOF', '"<"', 5],
  ['diff <(ls) x', '"<"', 6],
  ['(rm -rf x)', '"("', 1],
  ['{ rm -rf x; }', '"{"', 1],
  ['echo {a,b}', '"{"', 6],
  ['rm *', '"*"', 4],
  ['rm ?', '"?"', 4],
  ['rm [a]', '"["', 4],
  ['ls ~', '"~"', 4],
  ['ls ~/x a=~', '"~"', 4],
  ['echo $HOME', '"$"', 6],
  ['echo ${IFS}', '"$"', 6],
  ["echo $'\\x41'", '"$"', 6],
  ['A=b git status', 'a variable set before a command', 1],
  ['git status; PATH=. ls', 'a variable set before a command', 13],
  ['echo a\\ b', '"\\"', 7],
  ['echo a \\\n b', '"\\"', 8],
  ['git status # rm', '"#"', 12],
  ['! git status', '"!"', 1],
  ['if true; then id; fi', '"if", which only a shell knows', 1],
  ['cd / && rm -rf x', '"cd", which only a shell knows', 1],
  ['eval rm', '"eval", which only a shell knows', 1],
  ['f() { id; }', '"("', 2],
  ["echo 'a", "a ' that is not closed", 6],
  ['echo "a', 'a " that is not closed', 6],
  ['git status\r\nid', 'the character U+000D', 11],
  ['git\u00A0status', 'the character U+00A0', 4],
  ['echo \u202Ehtap', 'the character U+202E', 6],
  ['echo a\0b', 'the character U+0000', 7],
  ['a &&', 'nothing after "&&"', 5],
  ['a | ; b', '";" without a command before it', 5],
  ['a ;; b', '";" without a command before it', 4],
  ['&& a', '"&&" without a command before it', 1],
  ['', 'no command', 1],
  [' \n ', 'no command', 1],
]

describe('CMD-01 H5: nothing else is in the grammar', () => {
  test.each(HOSTILE)('%j', (text, untaken, column) => {
    expect(compileLine(text)).toEqual({ untaken, column })
  })

  test('a line that is too long, or has too many commands', () => {
    expect(compileLine(`echo ${'a'.repeat(70_000)}`)).toMatchObject({
      untaken: expect.stringMatching(/^more/),
    })
    expect(compileLine('a;'.repeat(51))).toEqual({ untaken: 'more than 50 commands', column: 101 })
  })
})

test('CMD-01: a newline between commands is never lost', () => {
  expect(compileLine('git status\nrm -rf /')).toEqual([
    { joint: ';', pipeline: [['git', 'status']] },
    { joint: ';', pipeline: [['rm', '-rf', '/']] },
  ])
})

const word = string({ unit: 'grapheme', maxLength: 12 }).filter((text) => !text.includes('\0'))
const pipeline = array(array(word, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 3 })
const lines = array(record({ joint: constantFrom('&&', '||', ';'), pipeline }), {
  minLength: 1,
  maxLength: 4,
}).map(([first, ...rest]): Line => (first === undefined ? [] : [{ ...first, joint: ';' }, ...rest]))

test('H5: every line, printed and compiled, is the same line', () => {
  assert(
    property(lines, (line) => {
      expect(compileLine(printLine(line))).toEqual(line)
    }),
  )
})

test('H5: whatever is taken means the same when it is printed and compiled again', () => {
  const text = array(constantFrom(...Array.from(`ab '"|&;\n-$=~^./`), '&&', '||'), { maxLength: 20 }).map(
    (all) => all.join(''),
  )
  assert(
    property(text, (source) => {
      const line = compileLine(source)
      if ('untaken' in line) expect(line.column).toBeLessThanOrEqual(source.length + 1)
      else expect(compileLine(printLine(line))).toEqual(line)
    }),
    { numRuns: 1000 },
  )
})
