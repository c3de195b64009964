import { expect, test } from 'vitest'
import { isCredentialName, isOrdinary, looksDrawn, writtenCredentials } from './credentials.ts'

test.each([
  'GITHUB_TOKEN',
  'TOK',
  'API-KEY',
  'apiKey',
  'DB_PASSWORD',
  'MYSQL_PWD',
  'AWS_ACCESS_KEY_ID',
  'SENTRY_DSN',
])('N1: %s is the name of a credential', (name) => expect(isCredentialName(name)).toBe(true))

test.each(['LOG_LEVEL', 'KEYBOARD', 'PASSENGERS', 'AUTHOR', 'Accept', 'NODE_ENV', 'PATH', 'TOKYO'])(
  'N1: %s is not',
  (name) => expect(isCredentialName(name)).toBe(false),
)

test.each([
  'production',
  'postgres',
  'application/vnd.github+json',
  'eu-central-1',
  'claude-sonnet-4-20250514',
  '2022-06-28',
  '123456789012',
  'en_US.UTF-8',
  'localhost:3000',
  '/home/ada/projects/my-app_2/node_modules/.bin',
  '/usr/bin:/usr/local/bin',
  String.raw`C:\Users\ada\notes`,
  'https://api.example.com/v1',
  'https://abcdefghijklmnopqrst.supabase.co',
])('N1: %s is ordinary', (value) => {
  expect(isOrdinary(value)).toBe(true)
  expect(writtenCredentials({ env: { WHATEVER: value } })).toEqual([])
})

test.each([
  'sk-canary-0123456789abcdefXYZ',
  'hunter2hunter2',
  'pässword-of-mine',
  'xKjQwErTyUiOpAsD',
  '6f1c2b34-9a7d-4c1e-8f00-1234567890ab',
  'postgres://ada:hunter-two@db/x',
  'https://hooks.example.com/services/T01/B02/aB3dE6gH9jKlMnOp',
  '/aB3dE6gH9jKlMnOpQrS7tUv',
])('N1: %s is not', (value) => {
  expect(isOrdinary(value)).toBe(false)
  expect(writtenCredentials({ headers: { 'X-Whatever': value } }).map(([, secret]) => secret)).toContain(
    value,
  )
})

test('N1: whatever it is, what a name or auth says is a credential is one', () => {
  const config = {
    env: { DB_PASSWORD: 'production', PORT_TOKEN: 12_345_678 },
    auth: { type: 'basic-login', username: 'somebody', password: 'postgres-too' },
  }
  expect(writtenCredentials(config)).toEqual(
    expect.arrayContaining([
      ['DB_PASSWORD', 'production'],
      ['PORT_TOKEN', '12345678'],
      ['password', 'postgres-too'],
    ]),
  )
  expect(JSON.stringify(writtenCredentials(config))).not.toMatch(/basic-login|somebody/)
})

test.each([
  ['what stands behind a scheme', 'Bearer abc-123-def-456-x9z8', 'abc-123-def-456-x9z8'],
  ['beside a variable', 'abcd1234efgh5678-${NAME}', 'abcd1234efgh5678-'],
  ['for a variable that is not set', '${NAME:-abcd1234efgh5678}', 'abcd1234efgh5678'],
  [
    'in JSON',
    '{"Authorization": "Bearer ntn_0123456789abcdef", "Version": "2022-06-28"}',
    'ntn_0123456789abcdef',
  ],
  ['the password of an address', 'postgres://ada:hunt%20er2-two2x@db/x', 'hunt er2-two2x'],
  [
    'the password behind Basic',
    `Basic ${Buffer.from('ada:hunter-two-x').toString('base64')}`,
    'hunter-two-x',
  ],
])('N1: %s is taken by itself', (_, value, secret) => {
  expect(writtenCredentials({ env: { HEADERS_OF_IT: value } }).map(([, found]) => found)).toContain(secret)
})

test('N1: a name of a variable alone says nothing, and what is too short is none', () => {
  expect(writtenCredentials({ env: { TOKEN: '${MY_TOKEN}', KEY: 'abc1234' }, auth: 'Bearer ${X}' })).toEqual(
    [],
  )
})

test('N1: by its form a row of letters and digits is a credential, an identifier or an address is not', () => {
  expect(looksDrawn('abcdefghij0123456789')).toBe(true)
  expect(looksDrawn('postgres://ada:hunter-two@db/x')).toBe(true)
  expect(looksDrawn('https://example.com/a?b=c')).toBe(false)
  expect(looksDrawn('@scope/some-package-name')).toBe(false)
})
