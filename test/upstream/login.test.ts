import { readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import { afterEach, describe, expect, test } from 'vitest'
import { openHttpClient } from '../../src/primitives/http/http-client.ts'
import { systemClock } from '../../src/shared/clock.ts'
import { openOauth } from '../../src/upstream/oauth/oauth.ts'
import { readTerms } from '../../src/upstream/oauth/terms.ts'
import type { AuthorizationServer } from '../fixtures/authorization-server.ts'
import { agree } from '../fixtures/authorization-server.ts'
import { field } from '../fixtures/field.ts'
import { REFUSED, closeBeds, openLoginBed, opened, tokenRequests } from '../fixtures/login-bed.ts'

afterEach(closeBeds)

const KNOWN = { type: 'oauth', client_id: 'known', client_secret: 'known-secret-1' }
const lines = ({ log }: AuthorizationServer): readonly string[] => log.map(({ line }) => line)

describe('a login to a server at an address', () => {
  test('X1: is made, used, renewed ahead of its end, and after it was taken back asked for anew', async () => {
    const { issuer, call, logIn, later } = await openLoginBed()
    await expect(call('a')).rejects.toMatchObject(REFUSED)
    const login = await logIn()
    expect(login).toMatchObject({ issuer: issuer.issuer, scope: 'read', principal: '*' })
    expect(await call('b')).toBe('b')
    expect(tokenRequests(issuer)).toEqual(['authorization_code'])
    later(login.expires_at === null ? 0 : 3550 * 1000)
    expect(await call('c')).toBe('c')
    expect(tokenRequests(issuer)).toEqual(['authorization_code', 'refresh_token'])
    issuer.revokeAll()
    await expect(call('d')).rejects.toMatchObject(REFUSED)
    expect(tokenRequests(issuer).length).toBe(3)
    await logIn()
    expect(await call('e')).toBe('e')
  })

  test('X1: is that of a principal, else that of everybody, and of no other address', async () => {
    const { call, logIn, target, secrets } = await openLoginBed()
    const bearer = { ...target, principal: 'bearer' }
    await logIn(bearer)
    await expect(call('a', { ...target, principal: 'local' })).rejects.toMatchObject(REFUSED)
    expect(await call('b', bearer)).toBe('b')
    await logIn()
    expect(await call('c', { ...target, principal: 'local' })).toBe('c')
    expect(await secrets.logins.find({ ...target, url: `${target.url}/other` })).toBe(null)
  })

  test('X1: names the server it is for, and registers with the address that is listened on', async () => {
    const { issuer, logIn, target } = await openLoginBed()
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
    const { issuer, call, logIn } = await openLoginBed()
    await logIn()
    for (const scope of ['write', 'admin', 'owner']) {
      issuer.manners.needs = scope
      await expect(call('a')).rejects.toMatchObject(REFUSED)
      expect((await logIn()).scope.split(' ')).toContain(scope)
      expect(await call('a')).toBe('a')
    }
    issuer.manners.needs = 'root'
    await expect(call('a')).rejects.toMatchObject({ code: 'HTTP_STATUS', details: { status_code: 403 } })
  })

  test('X1: where the issuer registers nobody, a person is told that a client_id is needed, and where to write it', async () => {
    const { issuer, logIn } = await openLoginBed()
    issuer.manners.metadata = { registration_endpoint: undefined }
    await expect(logIn()).rejects.toMatchObject({
      code: 'LOGIN_REQUIRED',
      message: `Cannot log in to "acme": "${issuer.issuer}" registers no clients by itself`,
      hint: 'Register Kiwi there, write auth: {type: oauth, client_id: ...} into the entry of the server, then run kiwi login acme',
    })
  })

  test('X1: a client with a secret logs in by itself, and its secret goes to one issuer', async () => {
    const auth = {
      type: 'oauth',
      flow: 'client_credentials',
      client_id: 'known',
      client_secret: 'known-secret-1',
      scopes: ['read'],
    }
    const { issuer, call, secrets, target, later } = await openLoginBed(auth)
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
    const { issuer, oauth, call, logIn, target } = await openLoginBed()
    await logIn()
    expect(await oauth.logOut(target)).toBe(true)
    expect(lines(issuer)).toContain('POST /revoke')
    await expect(call('a')).rejects.toMatchObject(REFUSED)
    expect(await oauth.logOut(target)).toBe(false)
  })
})

describe('what is not as it must be', () => {
  test('X1: a server that wants a key and offers no login says how a key is given', async () => {
    const plain = createServer((_, response) =>
      response.writeHead(401, { 'www-authenticate': 'Bearer' }).end(),
    )
    await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve))
    opened.push({ close: async () => plain.close() })
    const host = `127.0.0.1:${String(field(plain.address(), 'port'))}`
    const httpClient = openHttpClient({ allowHosts: [host], clock: systemClock })
    const { secrets } = await openLoginBed()
    const oauth = openOauth({ logins: secrets.logins, reaching: () => httpClient, clock: systemClock })
    const url = `http://${host}/mcp`
    const target = { id: 'mcp_acme', url, principal: '*', terms: readTerms('mcp_acme', null) }
    await expect(oauth.logIn(target, { show() {} })).rejects.toMatchObject({
      code: 'LOGIN_REQUIRED',
      hint: expect.stringContaining('kiwi add acme URL --header'),
    })
  })

  test('OAU-01: an issuer that does not say it protects the answer is refused', async () => {
    const { issuer, logIn } = await openLoginBed()
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
    const { issuer, logIn } = await openLoginBed()
    issuer.manners.answer = answer
    await expect(logIn()).rejects.toMatchObject({
      code: 'OAUTH_MISMATCH',
      message: expect.stringMatching(/^Cannot log in to "acme": /),
    })
    expect(lines(issuer)).not.toContain('POST /token')
  })

  test('OAU-02: an issuer that calls itself otherwise than it was called is refused', async () => {
    const { issuer, logIn } = await openLoginBed()
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
    const { issuer, oauth, target } = await openLoginBed()
    issuer.manners.metadata = { authorization_endpoint: address }
    const shown: string[] = []
    await expect(oauth.logIn(target, { show: (each) => void shown.push(each) })).rejects.toMatchObject({
      code: expect.stringMatching(/OAUTH_MISMATCH|LOGIN_REQUIRED/),
    })
    expect(shown).toEqual([])
  })

  test('OAU-06: nothing of a login can be read in the vault, and its tokens are taken out of what is said', async () => {
    const { logIn, vaultFile, secrets } = await openLoginBed()
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
    const { issuer, server, oauth, target } = await openLoginBed()
    const narrow = openHttpClient({ allowHosts: [server.host], clock: systemClock })
    opened.push(narrow)
    const guarded = openOauth({
      logins: {
        find: async () => null,
        issuerOf: async () => null,
        keep: async () => {},
        end: async () => {},
        forget: async () => false,
        inTurn: (_key, work) => work(),
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
    const { oauth, logIn, secrets, target, issuer } = await openLoginBed(KNOWN)
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
    const { logIn, secrets, issuer } = await openLoginBed({ type: 'oauth' })
    const login = await logIn()
    await secrets.logins.keep({ ...login, issuer: 'https://other.example' })
    const before = issuer.log.length
    expect(await logIn()).toMatchObject({ issuer: issuer.issuer })
    expect(lines(issuer).slice(before).join('\n')).toContain('register')
  })

  test('OAU-02: who gave a login that was taken back is still known', async () => {
    const { oauth, call, logIn, secrets, target, issuer, later } = await openLoginBed()
    await logIn()
    issuer.revokeAll()
    later(3600 * 1000)
    await expect(call('a')).rejects.toMatchObject(REFUSED)
    expect(await secrets.logins.find(target)).toBe(null)
    expect(await secrets.logins.issuerOf(target)).toBe(issuer.issuer)
    expect(await logIn()).toMatchObject({ issuer: issuer.issuer })
    expect(await oauth.logOut(target)).toBe(true)
    expect(await secrets.logins.issuerOf(target)).toBe(null)
  })

  test('OAU-02: the secret of the config goes to an issuer elsewhere only when a person says so', async () => {
    const { oauth, target, issuer } = await openLoginBed(KNOWN)
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
    const { oauth, target } = await openLoginBed()
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
