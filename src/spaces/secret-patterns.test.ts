import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { parseDocument } from './parse-document.ts'
import { openSecretPatterns } from './secret-patterns.ts'

const BUILTIN = join(import.meta.dirname, '../../builtin')
const patterns = openSecretPatterns(BUILTIN)
const path = join(BUILTIN, 'config/secret-patterns.yaml')
const Table = z.object({
  rules: z.array(
    z.object({
      id: z.string(),
      starts: z.array(z.string()),
      examples: z.object({ match: z.array(z.array(z.string())), not_match: z.array(z.array(z.string())) }),
    }),
  ),
})
const { rules } = Table.parse(await parseDocument(readFileSync(path, 'utf8'), path))
const matching = rules.flatMap(({ id, examples }) =>
  examples.match.map((parts): [string, string] => [id, parts.join('')]),
)
const innocent = rules.flatMap(({ examples }) => examples.not_match.map((parts) => parts.join('')))
const JWT = matching.find(([id]) => id === 'jwt')?.[1] ?? ''

describe('RED-04: what looks like a secret is found, and named by its rule alone', () => {
  test.each(matching)('%s, in a text, a list, an object, a key, and escaped', async (id, text) => {
    const secret = text.replace(/"$/, '')
    for (const value of [
      secret,
      `before ${secret} after`,
      [1, null, [secret]],
      { a: { b: secret } },
      { [secret]: true },
      JSON.stringify({ line: `x\n${secret}` }),
      `KEY=${secret}\nOTHER=1`,
    ]) {
      const { rules: found, redacted } = await patterns.screen(value)
      expect(found).toEqual([id])
      expect(JSON.stringify(redacted)).toContain(`[REDACTED:${id}]`)
      expect(JSON.stringify(found)).not.toContain(secret)
    }
  })

  test('a private key goes to its end, and what stands around stays', async () => {
    const [begin, end] = ['BEGIN', 'END'].map((word) => `-----${word} RSA PRIVATE KEY-----`)
    const { redacted } = await patterns.screen(`a\n${begin}\nMIIEow\nIBAAK\n${end}\nb ${begin} cut off`)
    expect(redacted).toBe('a\n[REDACTED:private-key]\nb [REDACTED:private-key]')
  })

  test('several are each taken out, and each rule is named once', async () => {
    const key = 'AKIA'.concat('IOSFODNN7EXAMPLE')
    const { rules: found, redacted } = await patterns.screen({ a: `${key} ${JWT}`, b: [key] })
    expect(found).toEqual(['aws-key', 'jwt'])
    expect(redacted).toEqual({ a: '[REDACTED:aws-key] [REDACTED:jwt]', b: ['[REDACTED:aws-key]'] })
  })
})

describe('BEN-11: what only looks random is left alone', () => {
  const prose = 'It was the best of times, it was the worst of times, it was the age of wisdom. '
  test.each([
    ['base64 of prose', Buffer.from(prose.repeat(20)).toString('base64')],
    ['base64 of JSON', Buffer.from(JSON.stringify({ alg: prose, sub: prose })).toString('base64')],
    ['a UUID', '8f14e45f-ceea-467f-a9b1-3c2a1d0f9e77'],
    ['a commit', 'commit 2890965a1b2c3d4e5f60718293a4b5c6d7e8f901'],
    ['40 hex digits', 'da39a3ee5e6b4b0d3255bfef95601890afd80709'],
    ['a sha256', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
    ['an integrity of npm', `sha512-${Buffer.alloc(64, 7).toString('base64')}`],
    ['a public key', '-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA\n-----END PUBLIC KEY-----'],
    ['a certificate', '-----BEGIN CERTIFICATE-----\nMIID\n-----END CERTIFICATE-----'],
    ['an address', 'https://user.example.com:8443/a?b=c and postgres://localhost:5432/app'],
    ['a name that holds a start', 'XAKIAIOSFODNN7EXAMPLE my_ghp_0123456789abcdefghijABCDEFGHIJ012345'],
    ['what was taken out already', 'postgres://ada:[REDACTED:DB]@db Bearer [REDACTED:TOKEN]'],
    ...innocent.map((text): [string, string] => [text, text]),
  ])('%s', async (_, text) => {
    const value = { output: text, lines: [text, `x ${text} y`] }
    expect(await patterns.screen(value)).toEqual({ rules: [], redacted: value })
  })

  test('words that nobody means: letters, digits and spaces are never touched', async () => {
    const word = fc.stringMatching(/^[A-Za-z0-9 .,]{0,60}$/)
    const starts = new RegExp(
      rules.flatMap((rule) => rule.starts.map((start) => start.replaceAll(/\W/g, '\\$&'))).join('|'),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(word), async (words) => {
        fc.pre(words.every((text) => !starts.test(text)))
        expect(await patterns.screen(words)).toEqual({ rules: [], redacted: words })
      }),
    )
  })
})

test('RED-04: nothing of a find is left, wherever it stands', async () => {
  const around = fc.stringMatching(/^[ a-z\n"':;,(){}]{0,40}$/)
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...matching), around, around, async ([id, text], before, after) => {
      const secret = text.replace(/"$/, '')
      const { rules: found, redacted } = await patterns.screen(`${before} ${secret} ${after}`)
      expect(found).toEqual([id])
      expect(redacted).not.toContain(secret)
    }),
  )
})

test('RED-04: what was made to take long is given up on, and counts as found from there', async () => {
  const text = `${'eyJ '.repeat(30_000)}the end`
  const { rules: found, redacted } = await patterns.screen(text)
  expect(found).toEqual(['too-much-to-look-at'])
  expect(redacted).not.toContain('the end')
  for (const hostile of [
    '-----BEGIN '.repeat(100_000),
    `eyJ${'a.eyJ'.repeat(200_000)}`,
    'redis://a:'.repeat(100_000),
  ])
    expect((await patterns.screen(hostile)).rules.length).toBeLessThanOrEqual(2)
})
