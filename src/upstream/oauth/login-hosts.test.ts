import { expect, test } from 'vitest'
import { loginHosts } from './login-hosts.ts'

const at = (host: string): { url: string; named: string } => ({ url: `http://${host}/mcp`, named: host })

test.each<[string, string, string | null, readonly string[]]>([
  [
    'the issuer is at another port of the same host',
    'localhost:3000',
    'http://localhost:9000',
    ['localhost:9000'],
  ],
  ['with a path', '127.0.0.1:3000', 'http://127.0.0.1:9000/realms/a', ['127.0.0.1:9000']],
  ['by IPv6', '[::1]:3000', 'http://[::1]:9000', ['[::1]:9000']],
  ['over https', 'localhost:3000', 'https://localhost', ['localhost:443']],
  ['it is the server itself', 'localhost:3000', 'http://localhost:3000', []],
  ['it is not known yet', 'localhost:3000', null, []],
  ['by another name of this machine', 'localhost:3000', 'http://127.0.0.1:9000', []],
  ['beside it in the network', 'localhost:3000', 'http://192.168.0.1:9000', []],
  ['on a name that only looks so', 'localhost:3000', 'http://localhost.evil.example', []],
  ['a server in the network does not open its host', '10.0.0.5:3000', 'http://10.0.0.5:9000', []],
  ['what is no address opens nothing', 'localhost:3000', 'nonsense', []],
])(
  'X1, SSRF-09: the server a person put on this machine is reached for its login, and so is the issuer: %s',
  (_, server, issuer, more) => {
    expect(loginHosts(at(server), issuer)).toEqual([server, ...more])
  },
)

test('SSRF-09: a server whose address no person wrote opens nothing', () => {
  const url = 'http://localhost:3000/mcp'
  expect(loginHosts({ url, named: null }, 'http://localhost:9000')).toEqual([])
  expect(loginHosts({ url }, 'http://localhost:9000')).toEqual([])
})
