import { expect, test } from 'vitest'
import { BUILTIN } from '../../test/fixtures/sample-item.ts'
import { liftSecrets } from './lift-secrets.ts'
import { openSecretPatterns } from './secret-patterns.ts'
import type { ServerEntry } from './server-entry.ts'

const patterns = openSecretPatterns(BUILTIN)
const lift = (entry: ServerEntry, known: Readonly<Record<string, string>> = {}) =>
  liftSecrets('my-api', entry, { patterns, known: (name) => known[name] })
const TOKEN = ['ghp', 'a'.repeat(36)].join('_')

test.each<[string, ServerEntry, ServerEntry, Readonly<Record<string, string>>]>([
  [
    'a variable that is named like one',
    { env: { API_KEY: 'abcdefgh1', LEVEL: 'information' } },
    { env: { API_KEY: '${API_KEY}', LEVEL: 'information' } },
    { API_KEY: 'abcdefgh1' },
  ],
  ['one that looks like one', { env: { X: TOKEN } }, { env: { X: '${X}' } }, { X: TOKEN }],
  ['a variable already', { env: { API_KEY: '${API_KEY}' } }, { env: { API_KEY: '${API_KEY}' } }, {}],
  [
    'a header, without its scheme',
    { headers: { Authorization: 'Bearer abcdefgh1', 'X-Team': 'a team of ours' } },
    { headers: { Authorization: 'Bearer ${MY_API_TOKEN}', 'X-Team': 'a team of ours' } },
    { MY_API_TOKEN: 'abcdefgh1' },
  ],
  [
    'arguments',
    { args: ['--api-key', 'abcdefgh1', '--token=ijklmnop2', TOKEN, '--verbose', 'x'] },
    {
      args: ['--api-key', '${MY_API_API_KEY}', '--token=${MY_API_TOKEN}', '${MY_API_KEY}', '--verbose', 'x'],
    },
    { MY_API_API_KEY: 'abcdefgh1', MY_API_TOKEN: 'ijklmnop2', MY_API_KEY: TOKEN },
  ],
  [
    'the query of an address',
    { url: 'https://x/mcp?apiKey=abc%20defgh&team=engineering' },
    { url: 'https://x/mcp?apiKey=${MY_API_APIKEY}&team=engineering' },
    { MY_API_APIKEY: 'abc defgh' },
  ],
  [
    'auth',
    { auth: { type: 'bearer', token: 'abcdefgh1' } },
    { auth: { type: 'bearer', token: '${MY_API_TOKEN}' } },
    { MY_API_TOKEN: 'abcdefgh1' },
  ],
  [
    'a variable whose name no template could hold, with a value that looks like a template',
    { env: { 'MY-API.TOKEN': 'a${b"c\\d$$e é\n2', '3_PASSWORD': 'p@ss=w:rd;${' } },
    { env: { 'MY-API.TOKEN': '${MY_API_TOKEN}', '3_PASSWORD': '${MCP_3_PASSWORD}' } },
    { MY_API_TOKEN: 'a${b"c\\d$$e é\n2', MCP_3_PASSWORD: 'p@ss=w:rd;${' },
  ],
  [
    'what nobody would write that is no credential, whatever its name',
    {
      env: { X: 'canary-0123456789abcdefXYZ', DB: 'postgres://ada:hunter-two@db/x', URL: 'https://x.dev/a1' },
    },
    { env: { X: '${X}', DB: '${DB}', URL: 'https://x.dev/a1' } },
    { X: 'canary-0123456789abcdefXYZ', DB: 'postgres://ada:hunter-two@db/x' },
  ],
  ['too short to be one', { env: { API_KEY: 'none' } }, { env: { API_KEY: 'none' } }, {}],
])('M1, N1: %s', async (_, entry, lifted, secrets) => {
  const done = await lift(entry)
  expect(done.entry).toEqual(lifted)
  expect(Object.fromEntries(done.secrets)).toEqual(secrets)
})

test('N1: a name that stands for something else is not taken, one that stands for the same is', async () => {
  const entry = { env: { API_KEY: 'abcdefgh1' } }
  expect((await lift(entry, { API_KEY: 'abcdefgh1' })).entry).toEqual({ env: { API_KEY: '${API_KEY}' } })
  expect((await lift(entry, { API_KEY: 'other' })).entry).toEqual({ env: { API_KEY: '${MY_API_API_KEY}' } })
})
