import { readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { REFUSED, closeBeds, openLoginBed, tokenRequests } from '../fixtures/login-bed.ts'

afterEach(closeBeds)

describe('a login is renewed', () => {
  test('X1: all that wait for a renewal share one', async () => {
    const { issuer, call, logIn, later } = await openLoginBed()
    await logIn()
    later(3600 * 1000)
    const words = ['a', 'b', 'c', 'd', 'e']
    expect(await Promise.all(words.map((word) => call(word)))).toEqual(words)
    expect(tokenRequests(issuer)).toEqual(['authorization_code', 'refresh_token'])
  })

  test('X1: of several processes one renews it, and an issuer that watches for stolen tokens takes nothing back', async () => {
    const first = await openLoginBed()
    const others = [
      await openLoginBed({ type: 'oauth' }, first),
      await openLoginBed({ type: 'oauth' }, first),
    ]
    const { issuer, logIn } = first
    issuer.manners.takesBackAfterReuse = true
    await logIn()
    for (const renewals of [1, 2]) {
      for (const each of [first, ...others]) each.later(3600 * 1000)
      const words = await Promise.all([first, ...others].map((each) => each.call('a')))
      expect(words).toEqual(['a', 'a', 'a'])
      expect(tokenRequests(issuer).slice(1)).toEqual(Array.from({ length: renewals }, () => 'refresh_token'))
    }
    expect(readdirSync(dirname(first.vaultFile)).filter((name) => name.endsWith('.lock'))).toEqual([])
  })

  test('X1: a token that the server takes no more is renewed at once', async () => {
    const { issuer, call, logIn, secrets, target } = await openLoginBed()
    await logIn()
    const login = await secrets.logins.find(target)
    issuer.revoke(login?.access_token ?? '')
    expect(await call('a')).toBe('a')
    expect(tokenRequests(issuer)).toEqual(['authorization_code', 'refresh_token'])
  })

  test('X1: over one connection it is renewed as often as its tokens end, and not where the new one is refused at once', async () => {
    const { issuer, connect, logIn, secrets, target } = await openLoginBed()
    await logIn()
    const call = connect()
    for (const word of ['a', 'b', 'c']) {
      const login = await secrets.logins.find(target)
      issuer.revoke(login?.access_token ?? '')
      expect(await call(word)).toBe(word)
    }
    expect(tokenRequests(issuer).slice(1)).toEqual(['refresh_token', 'refresh_token', 'refresh_token'])
    issuer.manners.takesNothing = true
    await expect(call('d')).rejects.toMatchObject(REFUSED)
    expect(tokenRequests(issuer).length).toBe(5)
  })

  test('X1: an issuer that fails for a moment locks nobody out', async () => {
    const { issuer, call, logIn, later } = await openLoginBed()
    await logIn()
    issuer.manners.tokenStatus = 503
    later(3550 * 1000)
    expect(await call('a')).toBe('a')
    later(100 * 1000)
    await expect(call('b')).rejects.toMatchObject({ code: 'UPSTREAM_UNAVAILABLE', retryable: true })
    issuer.manners.tokenStatus = null
    expect(await call('c')).toBe('c')
  })
})
