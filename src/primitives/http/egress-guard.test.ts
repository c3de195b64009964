import { expect, test } from 'vitest'
import { KiwiError } from '../../shared/errors.ts'
import type { Lookup } from './egress-guard.ts'
import { createEgressGuard, destinationOf, HTTP_SCHEMES, WEBSOCKET_SCHEMES } from './egress-guard.ts'

const at =
  (...addresses: readonly string[]): Lookup =>
  () =>
    Promise.resolve(addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })))

const judge = (url: string, ...allowHosts: readonly string[]): string | null => {
  const guard = createEgressGuard(allowHosts, at())
  return guard.judgeUrl(new URL(url), HTTP_SCHEMES)?.message ?? null
}

test.each([
  'http://127.0.0.1/',
  'http://127.1/',
  'http://2130706433/',
  'http://0x7f000001/',
  'http://0x7f.1/',
  'http://0177.0.0.1/',
  'http://017700000001/',
  'http://127.0.0.1./',
  'http://１２７.0.0.1/',
  'http://127%2e0.0.1/',
  'http://0/',
  'http://10.1.2.3:8080/',
  'http://172.20.0.1/',
  'http://192.168.1.1/',
  'http://169.254.169.254/latest/meta-data',
  'http://100.100.100.200/',
  'http://[::1]/',
  'http://[::]/',
  'http://[fd00:ec2::254]/',
  'http://[fe80::1]/',
  'http://[::ffff:10.0.0.1]/',
  'http://[::7f00:1]/',
  'http://[64:ff9b::a00:1]/',
  'http://[2002:c0a8:101::]/',
])('SSRF-01: %s is refused before anything is dialled', (url) => {
  expect(judge(url)).toMatch(/^Cannot reach ".+": an? .+ address.* that allow_hosts does not list$/)
})

test('SSRF-01: a refusal has its own code and names the host', () => {
  const refused = createEgressGuard([]).judgeUrl(new URL('http://10.0.0.5/x?key=1'), HTTP_SCHEMES)
  expect(refused).toBeInstanceOf(KiwiError)
  expect(refused).toMatchObject({
    code: 'EGRESS_DENIED',
    message: 'Cannot reach "10.0.0.5": a private address that allow_hosts does not list',
  })
})

test('SSRF-05: a URL that carries credentials is refused, whatever stands before the @', () => {
  expect(judge('https://good.com@127.0.0.1/')).toMatch(/"127\.0\.0\.1": its URL holds credentials/)
  expect(judge('https://:secret@api.example.com/', 'api.example.com')).toMatch(/credentials/)
  expect(judge('https://user@api.example.com/')).toMatch(/credentials/)
})

test('SSRF-01: only the schemes of the primitive pass', () => {
  for (const url of ['file:///etc/passwd', 'ftp://example.com/', 'data:text/plain,x', 'ws://example.com/']) {
    expect(judge(url)).toMatch(/only http: and https: URLs are allowed/)
  }
  const guard = createEgressGuard([])
  expect(guard.judgeUrl(new URL('wss://example.com/'), WEBSOCKET_SCHEMES)).toBeNull()
  expect(guard.judgeUrl(new URL('https://example.com/'), WEBSOCKET_SCHEMES)).not.toBeNull()
})

test('BEN-06: public hosts pass, as names and as addresses', async () => {
  expect(judge('https://api.github.com/repos')).toBeNull()
  expect(judge('https://140.82.112.6/')).toBeNull()
  expect(judge('http://[2606:4700:4700::1111]:8443/')).toBeNull()
  const addresses = await createEgressGuard([], at('140.82.112.6', '2606:50c0::1')).resolve({
    host: 'api.github.com',
    port: 443,
  })
  expect(addresses.map(({ address }) => address)).toEqual(['140.82.112.6', '2606:50c0::1'])
})

test('SSRF-03: one address that is not public refuses the whole name', async () => {
  const guard = createEgressGuard([], at('140.82.112.6', '127.0.0.1'))
  await expect(guard.resolve({ host: 'rebind.test', port: 80 })).rejects.toMatchObject({
    code: 'EGRESS_DENIED',
    message: 'Cannot reach "rebind.test": a loopback address that allow_hosts does not list',
  })
})

test('SSRF-03: the far end of a connection is judged again', () => {
  const guard = createEgressGuard(['intranet.test:8080'], at())
  expect(guard.judgePeer({ host: 'api.test', port: 443 }, '10.0.0.1')).toMatchObject({
    code: 'EGRESS_DENIED',
  })
  expect(guard.judgePeer({ host: 'api.test', port: 443 }, '140.82.112.6')).toBeNull()
  expect(guard.judgePeer({ host: 'intranet.test', port: 8080 }, '10.0.0.1')).toBeNull()
})

test('SSRF-01: what a person allowed passes, exactly that host and that port', async () => {
  expect(judge('http://127.0.0.1:8080/', '127.0.0.1:8080')).toBeNull()
  expect(judge('http://127.0.0.1:8081/', '127.0.0.1:8080')).not.toBeNull()
  expect(judge('http://127.0.0.1:8081/', '127.0.0.1')).toBeNull()
  expect(judge('http://127.1:9/', '127.0.0.1')).toBeNull()
  expect(judge('http://127.0.0.2/', '127.0.0.1')).not.toBeNull()
  expect(judge('http://127.0.0.1/', 'localhost')).not.toBeNull()
  expect(judge('http://[::1]:80/', '[::1]:80')).toBeNull()
  expect(judge('http://[0::1]/', '::1')).toBeNull()
  expect(judge('https://10.0.0.5/', '10.0.0.5:443')).toBeNull()
  expect(judge('http://10.0.0.5/', '10.0.0.5:443')).not.toBeNull()

  const guard = createEgressGuard(['Localhost'], at('127.0.0.1'))
  await expect(guard.resolve({ host: 'localhost', port: 80 })).resolves.toHaveLength(1)
  await expect(guard.resolve({ host: 'other.test', port: 80 })).rejects.toMatchObject({
    code: 'EGRESS_DENIED',
  })
})

test('SSRF-01: an address that is allowed does not allow the names that lead to it', async () => {
  const guard = createEgressGuard(['127.0.0.1'], at('127.0.0.1'))
  await expect(guard.resolve({ host: 'rebind.test', port: 80 })).rejects.toMatchObject({
    code: 'EGRESS_DENIED',
  })
})

test.each([
  '',
  'http://localhost',
  'localhost:',
  'localhost:x',
  'a b',
  'user@host',
  '*',
  '[::1',
  'a/b',
  '[zz]',
])('SSRF-01: %j in allow_hosts is refused when the client is opened', (entry) => {
  expect(() => createEgressGuard([entry])).toThrow(/allow_hosts/)
})

test('the system resolves names when nothing else is given', async () => {
  const guard = createEgressGuard([])
  await expect(guard.resolve({ host: 'localhost', port: 80 })).rejects.toMatchObject({
    code: 'EGRESS_DENIED',
  })
})

test('a URL without a port goes to that of its scheme', () => {
  const ports = ['http://a', 'https://a', 'ws://a', 'wss://a', 'http://a:8080', 'https://a:80']
  expect(ports.map((url) => destinationOf(new URL(url)).port)).toEqual([80, 443, 80, 443, 8080, 80])
})
