import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { AuthorizationServer } from '../fixtures/authorization-server.ts'
import { agree, openAuthorizationServer } from '../fixtures/authorization-server.ts'
import type { Place } from '../fixtures/place.ts'
import { makePlace } from '../fixtures/place.ts'
import type { RemoteServer } from '../fixtures/remote-servers.ts'
import { openRemoteServer } from '../fixtures/remote-servers.ts'
import { CLI, kiwi } from './temp-server.ts'

/** Each command is a process of its own, and a passphrase costs each of them its time. */
const PATIENCE = { timeout: 120_000 }
let place: Place
let issuer: AuthorizationServer
let server: RemoteServer
beforeEach(async () => {
  place = makePlace()
  place = { ...place, env: { ...place.env, KIWI_VAULT_PASSPHRASE: 'of the tests' } }
  issuer = await openAuthorizationServer()
  server = await openRemoteServer('http', issuer.admit)
  const user = join(place.folder, 'user')
  mkdirSync(join(user, 'config'), { recursive: true })
  writeFileSync(join(user, 'config/mcp_registry.yaml'), `mcps:\n  acme: {url: "${server.url}"}\n`)
})
afterEach(async () => {
  await server.close()
  await issuer.close()
  place.remove()
})

/** Logs in as a person would who copies the address. */
const logIn = async (
  ...args: readonly string[]
): Promise<{ code: number; stdout: string; stderr: string }> => {
  const child = spawn(process.execPath, [CLI, 'login', 'acme', '--no-browser', ...args], {
    cwd: place.project,
    env: place.env,
  })
  let [stdout, stderr, isShown] = ['', '', false]
  child.stdout.on('data', (chunk) => (stdout += String(chunk)))
  child.stderr.on('data', (chunk) => {
    stderr += String(chunk)
    const [address] = /http:\S+\/authorize\?\S+/.exec(stderr) ?? []
    if (address !== undefined && !isShown) void agree(address)
    isShown = address !== undefined
  })
  const [code] = await once(child, 'close')
  return { code: Number(code), stdout, stderr }
}

const everyFile = (folder: string): string =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => readFileSync(path, 'latin1'))
    .join('\n')

test(
  'X1, OAU-06: kiwi login shows the page and waits; its token is used, written nowhere, and given back',
  PATIENCE,
  async () => {
    const before = await kiwi(place, ['run', 'acme.echo', 'word=a'])
    expect(before.code).toBe(4)
    expect(before.stderr).toContain('kiwi login acme')
    const login = await logIn()
    expect(login).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('Log in here, within 5 minutes:'),
    })
    expect(login.stdout).toBe('Logged in to "acme" for the calls of everybody, renewed by itself\n')
    expect(await kiwi(place, ['run', 'acme.echo', 'word=b'])).toMatchObject({ code: 0, stdout: 'b\n' })
    expect((await kiwi(place, ['secret', 'list'])).stderr).toContain('The vault is empty')
    expect(await kiwi(place, ['logout', 'acme'])).toMatchObject({
      code: 0,
      stdout: 'Logged out of "acme"\n',
    })
    expect(issuer.log.some(({ line }) => line === 'POST /revoke')).toBe(true)
    expect((await kiwi(place, ['logout', 'acme'])).code).toBe(3)
    expect((await kiwi(place, ['run', 'acme.echo', 'word=c'])).code).toBe(4)
    expect(everyFile(place.folder)).not.toMatch(/\b[ar]t-[\w-]{32}/)
  },
)

test('OAU-02: a login that is answered by somebody else fails, and says so', PATIENCE, async () => {
  issuer.manners.answer = { iss: 'https://evil.example' }
  expect(await logIn()).toMatchObject({
    code: 4,
    stderr: expect.stringContaining('Cannot log in to "acme": the issuer in the answer is not the one asked'),
  })
})
