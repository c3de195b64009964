import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../shared/json.ts'
import { credentialField } from './credential-field.ts'

const text = { type: 'string' }
const form = (properties: JsonObject, more: JsonObject = {}, message = 'A question'): JsonObject => ({
  message,
  requestedSchema: { type: 'object', properties, ...more },
})

describe('INJ-08: a form asks for a credential', () => {
  test.each([
    ['by a name', form({ password: text })],
    ['in any spelling', form({ apiKey: text })],
    ['in capitals', form({ GITHUB_ACCESS_TOKEN: text })],
    ['joined', form({ userpassword: text })],
    ['spaced out', form({ 'p-a-s-s-w-o-r-d': text })],
    ['with signs that do not show', form({ 'pass\u200Bword': text })],
    ['in wide letters', form({ ｔｏｋｅｎ: text })],
    ['by a title', form({ value: { ...text, title: 'Secret key' } })],
    ['by a format', form({ value: { ...text, format: 'password' } })],
    ['as a number', form({ pin: { type: 'integer' } })],
    ['in allOf', form({}, { allOf: [{ properties: { secret: text } }] })],
    ['in oneOf', form({ a: { oneOf: [{ type: 'object', properties: { otp: text } }] } })],
    [
      'in if and then',
      form({ a: text }, { if: { required: ['a'] }, then: { properties: { credentials: text } } }),
    ],
    ['in a definition', form({ a: { $ref: '#/$defs/token' } }, { $defs: { token: text } })],
    ['in a pattern', form({}, { patternProperties: { '^api_key$': text } })],
    ['by a description', form({ value: { ...text, description: 'Paste your API key here' } })],
    ['by its message', form({ value: text }, {}, "Please enter the server's password to go on")],
    [
      'by a number of its own',
      form({ code: { type: 'integer', description: 'Enter the PIN of your card' } }),
    ],
    ['in one branch of several', form({ password: { oneOf: [{ const: 'none' }, text] } })],
    ['by a choice of nothing', form({ password: { ...text, enum: [] } })],
    [
      'beside one it does not want',
      form({ a: { ...text, description: 'Not your email: enter your password' } }),
    ],
    ['with fine words', form({ a: { ...text, description: 'Do not hesitate to enter your password' } })],
    ['but only that', form({ a: { ...text, description: 'Never enter anything except your password' } })],
    ['in a name that says no', form({ never_share_password: text })],
    ['in lists of schemas', form({ a: { type: 'array', items: [{ title: 'Private key' }] } })],
  ])('INJ-08: %s', (_, params) => {
    expect(credentialField(params)).not.toBeNull()
  })

  test.each([
    ['a colour', form({ colour: text })],
    ['how many tokens', form({ max_tokens: { type: 'integer' } })],
    ['a yes', form({ rotate_token: { type: 'boolean', title: 'Rotate the token' } })],
    [
      'a yes to something said',
      form({ ok: { type: 'boolean' } }, {}, 'Confirm that your API key is revoked?'),
    ],
    ['a choice', form({ which: { ...text, enum: ['a', 'b'] } }, {}, 'Which of your passwords is old?')],
    ['what is only told', form({ name: text }, {}, 'The token was rotated. How shall it be called?')],
    ['a keyboard', form({ keyboard: text, passenger: text, tokenizer: text })],
    [
      'what is not wanted',
      form({
        a: {
          ...text,
          description: 'Your favourite word (do not give us your phone number, pin, or other secrets)',
        },
        b: {
          ...text,
          description: 'Your login name, not your password. We will never ask for your password',
        },
        c: { ...text, description: "Please don't enter an API key" },
      }),
    ],
    [
      'a number beside words',
      form({ limit: { type: 'integer', description: 'Give the most per access token' } }),
    ],
    ['one of several', form({ how: { ...text, oneOf: [{ const: 'a', title: 'Password' }] } })],
    [
      'some of several',
      form({ how: { type: 'array', items: { anyOf: [{ const: 'a', title: 'API key' }] } } }),
    ],
    ['nothing', { message: 'Ready?' }],
  ])('INJ-08: %s is none', (_, params) => {
    expect(credentialField(params)).toBeNull()
  })
})

test('INJ-08: what is refused is named, with words that end whole', () => {
  expect(credentialField(form({ apiKey: text }))).toBe('field "apiKey"')
  const description = `Paste your API key here, which you find ${'in the settings of your account '.repeat(3)}`
  expect(credentialField(form({ a: { ...text, description } }))).toBe(
    'field "a" ("Paste your API key here, which you find in the settings of your account in the…")',
  )
  expect(credentialField(form({ a: text }, {}, 'Enter the password'))).toBe('message ("Enter the password")')
})
