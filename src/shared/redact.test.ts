import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { JsonValue } from './json.ts'
import { createRedact, withoutSecretKeys } from './redact.ts'
import { textOf } from './template.ts'

const SECRET = 'kiwi-canary+0123/ä"\\&'
const redact = createRedact(new Map([['TOKEN', SECRET]]))

/** Every way in which a tool may write the secret down. */
const ENCODINGS: Readonly<Record<string, (text: string) => string>> = {
  raw: (text) => text,
  'JSON-escaped': (text) => JSON.stringify(text).slice(1, -1),
  'JSON-escaped to ASCII': (text) =>
    JSON.stringify(text)
      .slice(1, -1)
      .replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  'JSON-escaped with slashes': (text) => JSON.stringify(text).slice(1, -1).replaceAll('/', '\\/'),
  'URL-encoded': encodeURIComponent,
  'URL-encoded in lower case': (text) =>
    encodeURIComponent(text).replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()),
  'form-encoded': (text) => new URLSearchParams({ a: text }).toString().slice(2),
  hex: (text) => Buffer.from(text).toString('hex'),
  'hex in upper case': (text) => Buffer.from(text).toString('hex').toUpperCase(),
  base64: (text) => Buffer.from(text).toString('base64'),
  base64url: (text) => Buffer.from(text).toString('base64url'),
}

describe('X7, RED-01: a secret is taken out', () => {
  test.each(Object.entries(ENCODINGS))('%s', (_, encode) => {
    const text = redact(`before ${encode(SECRET)} after`)
    expect(text).toContain('[REDACTED:TOKEN]')
    expect(text).toMatch(/^before .* after$/)
    expect(text).not.toContain(encode(SECRET))
  })

  test.each(['base64', 'base64url', 'hex'] as const)(
    '%s of a text around it, wherever it begins in a group of three',
    (encoding) => {
      for (const before of ['', 'a', 'ab', 'abc', 'user:']) {
        for (const after of ['', 'y', 'yz', 'xyz']) {
          const text = textOf(redact(Buffer.from(`${before}${SECRET}${after}`).toString(encoding)))
          expect(text).toContain('[REDACTED:TOKEN]')
          expect(Buffer.from(text.replaceAll(/\[.*?\]/g, ''), encoding).toString()).not.toContain('canary')
        }
      }
    },
  )

  test.each(['base64', 'base64url'] as const)('%s of nothing else leaves no tail', (encoding) => {
    for (const value of ['kiwi-canary-1', 'kiwi-canary-12', 'kiwi-canary-123']) {
      const take = createRedact(new Map([['S', value]]))
      for (const before of ['', 'a', 'ab']) {
        const text = Buffer.from(before + value).toString(encoding)
        const padded = text.padEnd(Math.ceil(text.length / 4) * 4, '=')
        expect(take(`${text} .`)).toMatch(/^[\w-]{0,3}\[REDACTED:S\] \.$/)
        expect(take(padded)).toMatch(/^[\w-]{0,3}\[REDACTED:S\]$/)
      }
    }
  })

  test('without the white space around it', () => {
    const take = createRedact(new Map([['S', 'super-secret-123\n']]))
    expect(take('super-secret-123!')).toBe('[REDACTED:S]!')
  })

  test('a key of several lines, line by line and with other line ends', () => {
    const key = '-----BEGIN KEY-----\nAAAABBBBCCCCDDDDEEEE\nFFFFGGGGHHHHIIIIJJJJ\n-----END KEY-----\n'
    const take = createRedact(new Map([['S', key]]))
    expect(textOf(take(key.replaceAll('\n', '\r\n')))).not.toMatch(/AAAA|FFFF/)
    expect(take('> FFFFGGGGHHHHIIIIJJJJ')).toBe('> [REDACTED:S]')
  })

  test('it never survives in any wrapping of random text', () => {
    const secret = fc.string({ unit: 'grapheme-ascii', minLength: 8, maxLength: 40 })
    const around = fc.string({ unit: 'grapheme', maxLength: 20 })
    const encodings = fc.constantFrom(...Object.values(ENCODINGS))
    fc.assert(
      fc.property(secret, around, around, encodings, (value, before, after, encode) => {
        // What is left of the text around may hold it by chance only when it is made of very little.
        fc.pre(!before.includes(value) && !after.includes(value) && !'[REDACTED:S]'.includes(value))
        const take = createRedact(new Map([['S', value]]))
        const wrapped: JsonValue = {
          [`k${encode(value)}`]: [`${before}${encode(value)}${after}`, { a: encode(value) }],
        }
        const text = JSON.stringify(take(wrapped))
        expect(text.split('[REDACTED:S]').length - 1).toBeGreaterThanOrEqual(3)
        expect(take(`${before}${encode(value)}${after}`)).not.toContain(encode(value))
      }),
    )
  })

  test('it is found in keys, lists and objects, and everything else stays as it was', () => {
    expect(redact({ a: [SECRET, 1, null, true], [`k-${SECRET}`]: { b: `${SECRET}${SECRET}` } })).toEqual({
      a: ['[REDACTED:TOKEN]', 1, null, true],
      'k-[REDACTED:TOKEN]': { b: '[REDACTED:TOKEN][REDACTED:TOKEN]' },
    })
  })

  test('a secret of digits is found when it comes back as a number', () => {
    const take = createRedact(new Map([['PIN', '1234567890']]))
    expect(take({ pin: 1234567890, other: 12345, list: [-1234567890] })).toEqual({
      pin: '[REDACTED:PIN]',
      other: 12345,
      list: ['-[REDACTED:PIN]'],
    })
  })

  test('of two secrets the longer one is named, though it holds the other', () => {
    const take = createRedact(
      new Map([
        ['SHORT', 'abcdefgh'],
        ['LONG', 'abcdefgh-ijkl'],
      ]),
    )
    expect(take('abcdefgh-ijkl abcdefgh')).toBe('[REDACTED:LONG] [REDACTED:SHORT]')
  })
})

/** What other encoders make of it: they spare other characters, and what is escaped is escaped again. */
const OTHERS: Readonly<Record<string, (text: string) => string>> = {
  'URL-encoded as curl, Go and Python do': (text) =>
    encodeURIComponent(text).replaceAll(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`),
  'form-encoded as Go and Python do': (text) =>
    encodeURIComponent(text)
      .replaceAll('%20', '+')
      .replaceAll(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`),
  'JSON in JSON': (text) => JSON.stringify(JSON.stringify(text)).slice(3, -3),
  'JSON in JSON in JSON': (text) => JSON.stringify(JSON.stringify(JSON.stringify(text))).slice(7, -7),
  'JSON for pages': (text) =>
    JSON.stringify(text)
      .slice(1, -1)
      .replaceAll(/[<>&']/g, (sign) => `\\u00${sign.charCodeAt(0).toString(16)}`),
  'URL-encoded twice': (text) => encodeURIComponent(encodeURIComponent(text)),
  'URL-encoded three times': (text) => encodeURIComponent(encodeURIComponent(encodeURIComponent(text))),
  'HTML in HTML': (text) =>
    [1, 2].reduce(
      (shown) => shown.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&#34;'),
      text,
    ),
  'URL-encoded in JSON': (text) => JSON.stringify(encodeURIComponent(text)).slice(1, -1),
  HTML: (text) =>
    text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;').replaceAll("'", '&#39;'),
  'base64 in lines': (text) => wrapped(Buffer.from(`user:${text}`).toString('base64'), 7, '\n'),
  'base64 in lines of mail': (text) => wrapped(Buffer.from(text).toString('base64'), 10, '\r\n  '),
  'hex in lines': (text) => wrapped(Buffer.from(text).toString('hex'), 12, '\n'),
}
const wrapped = (text: string, width: number, end: string): string =>
  text.replaceAll(new RegExp(`.{${width}}`, 'g'), `$&${end}`)

describe('X7, RED-01: a secret is taken out, whoever has encoded it', () => {
  const secrets = [SECRET, `p(ss) w*rd!'~<é>\\\\"/`, 'line one\nline\ttwo 😀', 'plain-canary-0123456789']
  test.each(Object.entries(OTHERS))('%s', (_, encode) => {
    for (const secret of secrets) {
      const text = textOf(createRedact(new Map([['TOKEN', secret]]))(`before ${encode(secret)} after`))
      expect(text).toMatch(/^before \S{0,8}\s*\S{0,2}\[REDACTED:TOKEN\][\s=]*\w?[\s=]* after$/)
    }
  })

  test('a row of backslashes takes no longer than any other text', () => {
    const take = createRedact(new Map([['S', `${'\\'.repeat(40)}x${'\\"'.repeat(20)}`]]))
    const text = `${'\\'.repeat(20_000)}y${'\\"'.repeat(5000)}`
    expect(take(text)).toBe(text)
  })

  test('text beside it keeps its lines and its colons', () => {
    const text = `a: 1\nb: 2\n${SECRET}\n\nc: 3`
    expect(redact(text)).toBe('a: 1\nb: 2\n[REDACTED:TOKEN]\n\nc: 3')
  })
})

describe('X7: a text that was cut in the middle of a secret', () => {
  test.each(Object.entries(ENCODINGS))(
    '%s: wherever it was cut, eight characters of it are not shown',
    (_, encode) => {
      const look = encode(SECRET)
      for (let length = 8; length <= look.length; length++)
        // The last sign of base64 is not decided by the secret alone.
        expect(redact(`before ${look.slice(0, length)}`, true)).toMatch(/^before \[REDACTED:TOKEN\].?=*$/)
      expect(redact({ a: [`before ${look.slice(0, 9)}`] }, true)).toEqual({ a: ['before [REDACTED:TOKEN]'] })
    },
  )

  test('a beginning that stands elsewhere, or in what was not cut, is no secret', () => {
    for (const text of [`${SECRET.slice(0, 12)} is a word`, SECRET.slice(0, 12), SECRET.slice(0, 7)])
      expect([redact(text), redact(`${text}!`, true)]).toEqual([text, `${text}!`])
  })

  test('a beginning that is there twice is taken from where it fits', () => {
    const take = createRedact(new Map([['S', 'abcabcabcabcabcX']]))
    expect(take('abcabcabcabcabcabcabcabc', true)).toBe('abcabcabc[REDACTED:S]')
  })
})

describe('ENV-09, BEN-11: what is no secret is not touched', () => {
  test('a value of fewer than eight characters never mangles output', () => {
    const take = createRedact(
      new Map([
        ['A', 'abc'],
        ['B', '1234567'],
        ['EMPTY', ''],
      ]),
    )
    const output: JsonValue = { a: 'abc 1234567 YWJj 616263', n: 1234567 }
    expect(take(output)).toBe(output)
    expect(createRedact(new Map([['A', '12345678']]))('12345678')).toBe('[REDACTED:A]')
  })

  test('without secrets the value itself comes back', () => {
    const output: JsonValue = { a: ['x'] }
    expect(createRedact(new Map())(output)).toBe(output)
  })

  test.each([
    '123e4567-e89b-12d3-a456-426614174000',
    'da39a3ee5e6b4b0d3255bfef95601890afd80709',
    'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    Buffer.from('The quick brown fox jumps over the lazy dog').toString('base64'),
    'kiwi-canary is a word of its own, and +0123 is a number',
    'Authorization: Bearer, password, token',
  ])('%s', (text) => {
    expect(redact(text)).toBe(text)
  })

  test('a mark holds no part of the secret, not even when its name does', () => {
    const take = createRedact(new Map([['NAME', 'REDACTED:NAME']]))
    expect(take('x REDACTED:NAME y')).toBe('x [REDACTED:NAME] y')
  })
})

const written = (value: unknown): unknown => JSON.parse(withoutSecretKeys(value))

describe('a text under a key that is named like a secret', () => {
  test.each([
    'authorization',
    'Authorization',
    'password',
    'db_passwd',
    'client_secret',
    'access_token',
    'api_key',
    'apiKey',
    'x-api-key',
    'cookie',
    'Set-Cookie',
    'credentials',
  ])('is hidden: %s', (key) => {
    expect(written({ a: { [key]: 'hush', other: 'seen' } })).toEqual({
      a: { [key]: '[REDACTED]', other: 'seen' },
    })
  })

  test('is hidden in a list as well', () => {
    expect(written({ 'set-cookie': ['sid=1', 'b=2'], tags: ['a'] })).toEqual({
      'set-cookie': ['[REDACTED]', '[REDACTED]'],
      tags: ['a'],
    })
  })

  test('numbers and switches are no secrets', () => {
    expect(written({ max_tokens: 4096, token: null, has_password: true })).toEqual({
      max_tokens: 4096,
      token: null,
      has_password: true,
    })
  })
})
