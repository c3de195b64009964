import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { openHttpClient } from '../../src/primitives/http/http-client.ts'
import type { Clock } from '../../src/shared/clock.ts'
import { systemClock } from '../../src/shared/clock.ts'
import type { JsonObject } from '../../src/shared/json.ts'
import type { Secrets } from '../../src/store/vault/secrets.ts'
import { openSecrets } from '../../src/store/vault/secrets.ts'
import { openHttpWire } from '../../src/upstream/http-wire.ts'
import type { Oauth } from '../../src/upstream/oauth/oauth.ts'
import { openOauth } from '../../src/upstream/oauth/oauth.ts'
import type { LoginTarget } from '../../src/upstream/oauth/terms.ts'
import { readTerms } from '../../src/upstream/oauth/terms.ts'
import type { AuthorizationServer } from '../fixtures/authorization-server.ts'
import { agree, openAuthorizationServer } from '../fixtures/authorization-server.ts'
import { field } from '../fixtures/field.ts'
import type { RemoteServer } from '../fixtures/remote-servers.ts'
import { openRemoteServer } from '../fixtures/remote-servers.ts'
import { MODERN_META, talkOver } from '../fixtures/talk.ts'

const open: { close(): Promise<unknown> }[] = []
const folders: string[] = []
afterEach(async () => {
  for (const one of open.splice(0).toReversed()) await one.close()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

interface Bed {
  readonly issuer: AuthorizationServer
  readonly server: RemoteServer
  readonly oauth: Oauth
  readonly secrets: Secrets
  readonly vaultFile: string
  readonly target: LoginTarget
  /** Moves the time on. */
  readonly later: (ms: number) => void
  /** Calls the server's tool with the login of a principal. */
  readonly call: (word: string, target?: LoginTarget) => Promise<unknown>
  readonly logIn: (target?: LoginTarget) => ReturnType<Oauth['logIn']>
}

const bed = async (auth: JsonObject | null = { type: 'oauth' }): Promise<Bed> => {
  const issuer = await openAuthorizationServer()
  const server = await openRemoteServer('http', issuer.admit)
  let ahead = 0
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + ahead }
  const httpClient = openHttpClient({
    allowHosts: [issuer.host, server.host, server.host.replace('127.0.0.1', 'localhost')],
    clock,
  })
  open.push(issuer, server, httpClient)
  const folder = mkdtempSync(join(tmpdir(), 'kiwi-login-'))
  folders.push(folder)
  const vaultFile = join(folder, 'kiwi.vault')
  const vault = { path: vaultFile, keyFile: `${vaultFile}.key`, passphrase: null }
  const secrets = openSecrets({
    config: { vault, userSpace: folder, environment: { DBUS_SESSION_BUS_ADDRESS: '' } },
    clock,
    store: { exclusively: async (work) => work() },
  })
  const oauth = openOauth({ logins: secrets.logins, reaching: () => httpClient, clock })
  const target = { id: 'acme', url: server.url, principal: '*', terms: readTerms('acme', auth) }
  return {
    issuer,
    server,
    oauth,
    secrets,
    vaultFile,
    target,
    later: (ms) => void (ahead += ms),
    logIn: (whose = target) => oauth.logIn(whose, { show: (address) => void agree(address) }),
    async call(word, whose = target) {
      const credential = oauth.credential(whose)
      const wire = openHttpWire(
        { id: 'acme', url: server.url, headers: {}, startupMs: 5000, credential },
        httpClient,
      )
      open.push(wire)
      wire.agree('2026-07-28')
      const params = { name: 'echo', arguments: { word }, _meta: MODERN_META }
      const answer = await talkOver(wire).ask('tools/call', params, { headers: { 'mcp-param-word': word } })
      return field(answer, 'result', 'content', 0, 'text')
    },
  }
}

const KNOWN = { type: 'oauth', client_id: 'known', client_secret: 'known-secret-1' }
const lines = ({ log }: AuthorizationServer): readonly string[] => log.map(({ line }) => line)
const tokenRequests = (issuer: AuthorizationServer): readonly (string | null)[] =>
  issuer.log.filter(({ line }) => line === 'POST /token').map(({ sent }) => sent.get('grant_type'))
const refused = { code: 'LOGIN_REQUIRED', hint: 'Ask the person to run kiwi login acme' }

describe('a login to a server at an address', () => {
  test('X1: is made, used, renewed ahead of its end, and after it was taken back asked for anew', async () => {
    const { issuer, call, logIn, later } = await bed()
    await expect(call('a')).rejects.toMatchObject(refused)
    const login = await logIn()
    expect(login).toMatchObject({ issuer: issuer.issuer, scope: 'read', principal: '*' })
    expect(await call('b')).toBe('b')
    expect(tokenRequests(issuer)).toEqual(['authorization_code'])
    later(login.expires_at === null ? 0 : 3550 * 1000)
    expect(await call('c')).toBe('c')
    expect(tokenRequests(issuer)).toEqual(['authorization_code', 'refresh_token'])
    issuer.revokeAll()
    await expect(call('d')).rejects.toMatchObject(refused)
    expect(tokenRequests(issuer).length).toBe(3)
    await logIn()
    expect(await call('e')).toBe('e')
  })

  test('X1: all that wait for a renewal share one', async () => {
    const { issuer, call, logIn, later } = await bed()
    await logIn()
    later(3600 * 1000)
    const words = ['a', 'b', 'c', 'd', 'e']
    expect(await Promise.all(words.map((word) => call(word)))).toEqual(words)
    expect(tokenRequests(issuer)).toEqual(['authorization_code', 'refresh_token'])
  })

  test('X1: a token that the server takes no more is renewed at once', async () => {
    const { issuer, call, logIn, secrets, target } = await bed()
    await logIn()
    const login = await secrets.logins.find(target)
    issuer.revoke(login?.access_token ?? '')
    expect(await call('a')).toBe('a')
    expect(tokenRequests(issuer)).toEqual(['authorization_code', 'refresh_token'])
  })

  test('X1: an issuer that fails for a moment locks nobody out', async () => {
    const { issuer, call, logIn, later } = await bed()
    await logIn()
    issuer.manners.tokenStatus = 503
    later(3550 * 1000)
    expect(await call('a')).toBe('a')
    later(100 * 1000)
    await expect(call('b')).rejects.toMatchObject({ code: 'UPSTREAM_UNAVAILABLE', retryable: true })
    issuer.manners.tokenStatus = null
    expect(await call('c')).toBe('c')
  })

  test('X1: is that of a principal, else that of everybody, and of no other address', async () => {
    const { call, logIn, target, secrets } = await bed()
    const bearer = { ...target, principal: 'bearer' }
    await logIn(bearer)
    await expect(call('a', { ...target, principal: 'local' })).rejects.toMatchObject(refused)
    expect(await call('b', bearer)).toBe('b')
    await logIn()
    expect(await call('c', { ...target, principal: 'local' })).toBe('c')
    expect(await secrets.logins.find({ ...target, url: `${target.url}/other` })).toBe(null)
  })

  test('X1: names the server it is for, and registers with the address that is listened on', async () => {
    const { issuer, logIn, target } = await bed()
    await logIn()
    const authorize = issuer.log.find(({ line }) => line === 'GET /authorize')?.sent
    expect(authorize?.get('resource')).toBe(target.url)
    expect(authorize?.get('code_challenge_method')).toBe('S256')
    expect(authorize?.get('redirect_uri')).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback$/)
    const tokens = issuer.log.find(({ line }) => line === 'POST /token')?.sent
    expect(tokens?.get('resource')).toBe(target.url)
    expect(lines(issuer).filter((line) => line === 'POST /register').length).toBe(1)
  })

  test('X1: asks for more where the server wants more, at most three times in a row', async () => {
    const { issuer, call, logIn } = await bed()
    await logIn()
    for (const scope of ['write', 'admin', 'owner']) {
      issuer.manners.needs = scope
      await expect(call('a')).rejects.toMatchObject(refused)
      expect((await logIn()).scope.split(' ')).toContain(scope)
      expect(await call('a')).toBe('a')
    }
    issuer.manners.needs = 'root'
    await expect(call('a')).rejects.toMatchObject({ code: 'HTTP_STATUS', details: { status_code: 403 } })
  })

  test('X1: a client with a secret logs in by itself, and its secret goes to one issuer', async () => {
    const auth = {
      type: 'oauth',
      flow: 'client_credentials',
      client_id: 'known',
      client_secret: 'known-secret-1',
      scopes: ['read'],
    }
    const { issuer, call, secrets, target, later } = await bed(auth)
    expect(await call('a')).toBe('a')
    later(3600 * 1000)
    expect(await call('b')).toBe('b')
    expect(tokenRequests(issuer)).toEqual(['client_credentials', 'client_credentials'])
    const login = await secrets.logins.find(target)
    if (login !== null) await secrets.logins.keep({ ...login, issuer: 'https://other.example' })
    later(3600 * 1000)
    await expect(call('c')).rejects.toMatchObject({ code: 'OAUTH_MISMATCH' })
  })

  test('X1: is given back at the logout', async () => {
    const { issuer, oauth, call, logIn, target } = await bed()
    await logIn()
    expect(await oauth.logOut(target)).toBe(true)
    expect(lines(issuer)).toContain('POST /revoke')
    await expect(call('a')).rejects.toMatchObject(refused)
    expect(await oauth.logOut(target)).toBe(false)
  })
})

describe('what is not as it must be', () => {
  test('X1: a server that wants a key and offers no login says how a key is given', async () => {
    const plain = createServer((_, response) =>
      response.writeHead(401, { 'www-authenticate': 'Bearer' }).end(),
    )
    await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve))
    open.push({ close: async () => plain.close() })
    const host = `127.0.0.1:${String(field(plain.address(), 'port'))}`
    const httpClient = openHttpClient({ allowHosts: [host], clock: systemClock })
    const { secrets } = await bed()
    const oauth = openOauth({ logins: secrets.logins, reaching: () => httpClient, clock: systemClock })
    const url = `http://${host}/mcp`
    const target = { id: 'mcp_acme', url, principal: '*', terms: readTerms('mcp_acme', null) }
    await expect(oauth.logIn(target, { show() {} })).rejects.toMatchObject({
      code: 'LOGIN_REQUIRED',
      hint: expect.stringContaining('kiwi add acme URL --header'),
    })
  })

  test('OAU-01: an issuer that does not say it protects the answer is refused', async () => {
    const { issuer, logIn } = await bed()
    issuer.manners.metadata = { code_challenge_methods_supported: undefined }
    await expect(logIn()).rejects.toMatchObject({ code: 'OAUTH_MISMATCH' })
    issuer.manners.metadata = { code_challenge_methods_supported: ['plain'] }
    await expect(logIn()).rejects.toMatchObject({ code: 'OAUTH_MISMATCH' })
    expect(lines(issuer)).not.toContain('GET /authorize')
  })

  test.each<[string, Record<string, string | null>]>([
    ['of another issuer', { iss: 'https://evil.example' }],
    ['without the issuer that was promised', { iss: null }],
    ['to another login', { state: 'x'.repeat(43) }],
    ['to no login', { state: null }],
  ])('OAU-02: an answer %s is refused before its code is sent', async (_, answer) => {
    const { issuer, logIn } = await bed()
    issuer.manners.answer = answer
    await expect(logIn()).rejects.toMatchObject({
      code: 'OAUTH_MISMATCH',
      message: expect.stringMatching(/^Cannot log in to "acme": /),
    })
    expect(lines(issuer)).not.toContain('POST /token')
  })

  test('OAU-02: an issuer that calls itself otherwise than it was called is refused', async () => {
    const { issuer, logIn } = await bed()
    issuer.manners.metadata = { issuer: 'https://evil.example' }
    await expect(logIn()).rejects.toMatchObject({ code: 'OAUTH_MISMATCH' })
    expect(lines(issuer)).not.toContain('GET /authorize')
  })

  test.each([
    'http://x.example/$(calc)',
    'javascript:alert(1)',
    'file:///x',
    'data:text/html,x',
    'a:$(cmd)?response_type=code',
  ])('CMD-05: the address %s is never shown or opened', async (address) => {
    const { issuer, oauth, target } = await bed()
    issuer.manners.metadata = { authorization_endpoint: address }
    const shown: string[] = []
    await expect(oauth.logIn(target, { show: (each) => void shown.push(each) })).rejects.toMatchObject({
      code: expect.stringMatching(/OAUTH_MISMATCH|LOGIN_REQUIRED/),
    })
    expect(shown).toEqual([])
  })

  test('OAU-06: nothing of a login can be read in the vault, and its tokens are taken out of what is said', async () => {
    const { logIn, vaultFile, secrets } = await bed()
    const { access_token, refresh_token } = await logIn()
    const text = readFileSync(vaultFile, 'utf8')
    expect(text).not.toContain(access_token)
    // The bytes: in their base64 any four letters stand now and then.
    const { data, ...around } = JSON.parse(text)
    expect(Buffer.from(data, 'base64').includes('acme')).toBe(false)
    expect(Object.keys(around)).toEqual(['kiwi_vault', 'key', 'salt', 'nonce'])
    expect(statSync(vaultFile).mode & 0o777).toBe(0o600)
    expect(secrets.redact(`${access_token} ${refresh_token}`)).not.toMatch(/at-|rt-/)
    expect((await secrets.vault.list()).secrets).toEqual([])
  })

  test('SSRF-09: metadata on an address that is not public is not asked for', async () => {
    const { issuer, server, oauth, target } = await bed()
    const narrow = openHttpClient({ allowHosts: [server.host], clock: systemClock })
    open.push(narrow)
    const guarded = openOauth({
      logins: {
        find: async () => null,
        issuerOf: async () => null,
        keep: async () => {},
        end: async () => {},
        forget: async () => false,
      },
      reaching: () => narrow,
      clock: systemClock,
    })
    await expect(guarded.logIn(target, { show() {} })).rejects.toMatchObject({
      code: 'EGRESS_DENIED',
      hint: expect.stringContaining(`"allow_hosts": ["${issuer.host}"]`),
    })
    expect(issuer.log).toEqual([])
    expect(oauth).toBeDefined()
  })

  test('OAU-02: the secret of the config goes to no other issuer than that of the first login, until the logout', async () => {
    const { oauth, logIn, secrets, target, issuer } = await bed(KNOWN)
    const login = await logIn()
    await secrets.logins.keep({ ...login, issuer: 'https://other.example' })
    const before = issuer.log.length
    await expect(logIn()).rejects.toMatchObject({
      code: 'OAUTH_MISMATCH',
      message: expect.stringContaining('kiwi logout'),
    })
    await expect(logIn({ ...target, principal: 'local' })).rejects.toMatchObject({ code: 'OAUTH_MISMATCH' })
    expect(
      lines(issuer)
        .slice(before)
        .filter((line) => /authorize|token|register/.test(line) && !line.includes('well-known')),
    ).toEqual([])
    expect(await oauth.logOut(target)).toBe(true)
    expect(await logIn()).toMatchObject({ issuer: issuer.issuer })
  })

  test('X1: without a secret a person who logs in at another issuer is registered there anew', async () => {
    const { logIn, secrets, issuer } = await bed({ type: 'oauth' })
    const login = await logIn()
    await secrets.logins.keep({ ...login, issuer: 'https://other.example' })
    const before = issuer.log.length
    expect(await logIn()).toMatchObject({ issuer: issuer.issuer })
    expect(lines(issuer).slice(before).join('\n')).toContain('register')
  })

  test('OAU-02: who gave a login that was taken back is still known', async () => {
    const { oauth, call, logIn, secrets, target, issuer, later } = await bed()
    await logIn()
    issuer.revokeAll()
    later(3600 * 1000)
    await expect(call('a')).rejects.toMatchObject(refused)
    expect(await secrets.logins.find(target)).toBe(null)
    expect(await secrets.logins.issuerOf(target)).toBe(issuer.issuer)
    expect(await logIn()).toMatchObject({ issuer: issuer.issuer })
    expect(await oauth.logOut(target)).toBe(true)
    expect(await secrets.logins.issuerOf(target)).toBe(null)
  })

  test('OAU-02: the secret of the config goes to an issuer elsewhere only when a person says so', async () => {
    const { oauth, target, issuer } = await bed(KNOWN)
    // The same place under another name: what the server names is elsewhere.
    const there = { ...target, url: target.url.replace('127.0.0.1', 'localhost') }
    const log = (confirm?: (named: string) => Promise<boolean>): Promise<unknown> =>
      oauth.logIn(there, { show: (address) => void agree(address), confirm })
    const asked: string[] = []
    const answer =
      (yes: boolean) =>
      async (named: string): Promise<boolean> => {
        asked.push(named)
        return yes
      }
    await expect(log()).rejects.toMatchObject({
      code: 'OAUTH_MISMATCH',
      message: expect.stringContaining(issuer.issuer),
    })
    await expect(log(answer(false))).rejects.toMatchObject({ code: 'OAUTH_MISMATCH' })
    expect(tokenRequests(issuer)).toEqual([])
    await log(answer(true))
    expect(asked).toEqual([issuer.issuer, issuer.issuer])
    // From then on it is known.
    await log()
    expect(tokenRequests(issuer)).toEqual(['authorization_code', 'authorization_code'])
  })

  test('OAU-08: a login that is given up leaves nothing listening', async () => {
    const { oauth, target } = await bed()
    const controller = new AbortController()
    let callback = ''
    const waiting = oauth.logIn(target, {
      signal: controller.signal,
      show: (address) => {
        callback = new URL(address).searchParams.get('redirect_uri') ?? ''
        controller.abort()
      },
    })
    await expect(waiting).rejects.toMatchObject({ code: 'CANCELLED' })
    await expect(fetch(callback)).rejects.toThrow(/fetch failed/)
  })
})
