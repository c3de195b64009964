import { request } from 'node:http'
import { connect } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import type { Callback } from './callback.ts'
import { openCallback } from './callback.ts'

const open: Callback[] = []
afterEach(() => {
  for (const callback of open.splice(0)) callback.close()
})
const listen = async (timeoutMs = 60_000): Promise<Callback> => {
  const callback = await openCallback(timeoutMs)
  open.push(callback)
  return callback
}
/** With a host of its own, which fetch would not send. */
const statusFor = (url: string, host: string): Promise<number> =>
  new Promise((resolve, reject) => {
    request(url, { headers: { host } }, (response) => resolve(response.resume().statusCode ?? 0))
      .on('error', reject)
      .end()
  })

test('OAU-08: one request to exactly its address is heard, and none after it', async () => {
  const { url, arrived } = await listen()
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback$/)
  const answer = await fetch(`${url}?code=a&state=b`)
  expect(answer.status).toBe(200)
  expect(await answer.text()).toContain('can be closed')
  expect(Object.fromEntries((await arrived) ?? [])).toEqual({ code: 'a', state: 'b' })
  await expect(fetch(`${url}?code=c`)).rejects.toThrow(/fetch failed/)
})

test('OAU-08: what goes elsewhere, asks otherwise or names another host is not it', async () => {
  const { url, arrived } = await listen()
  expect((await fetch(`${url}/x?code=a`)).status).toBe(404)
  expect((await fetch(new URL('/', url))).status).toBe(404)
  expect((await fetch(url, { method: 'POST' })).status).toBe(404)
  expect(await statusFor(`${url}?code=a`, 'evil.example')).toBe(404)
  expect((await fetch(`${url}?code=b`)).status).toBe(200)
  expect((await arrived)?.get('code')).toBe('b')
})

/** What is answered to a target that no client library would send. */
const firstLineFor = (port: string, target: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(Number(port), '127.0.0.1', () =>
      socket.end(`GET ${target} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`),
    )
    let said = ''
    socket
      .on('data', (chunk) => (said += String(chunk)))
      .on('error', reject)
      .on('close', () => resolve(said.split('\r\n')[0] ?? ''))
  })

test.each(['//', 'http://', 'http://[/callback', '//[x]/callback?code=a'])(
  'OAU-08: the target %s is answered, and the login goes on',
  async (target) => {
    const { url, arrived } = await listen()
    expect(await firstLineFor(new URL(url).port, target)).toBe('HTTP/1.1 400 Bad Request')
    expect((await fetch(`${url}?code=b`)).status).toBe(200)
    expect((await arrived)?.get('code')).toBe('b')
  },
)

test('OAU-08: a target that names another host is not it', async () => {
  const { url } = await listen()
  expect(await firstLineFor(new URL(url).port, 'http://evil.example/callback?code=a')).toBe(
    'HTTP/1.1 404 Not Found',
  )
})

test('OAU-08: it stops listening when its time is over', async () => {
  const { url, arrived } = await listen(50)
  expect(await arrived).toBe(null)
  await expect(fetch(url)).rejects.toThrow(/fetch failed/)
})
