import { expect, test } from 'vitest'
import { authorityAt, findAuthority, loadSdk } from './authority.ts'
import type { LoginTarget } from './terms.ts'
import { readTerms } from './terms.ts'

const ISSUER = 'https://login.example.com'
const METADATA = {
  issuer: ISSUER,
  authorization_endpoint: `${ISSUER}/authorize`,
  token_endpoint: `${ISSUER}/token`,
  registration_endpoint: `${ISSUER}/register`,
  revocation_endpoint: `${ISSUER}/revoke`,
  response_types_supported: ['code'],
}
const target = (url: string, issuer?: string): LoginTarget => ({
  id: 'acme',
  url,
  principal: '*',
  terms: readTerms('acme', { type: 'oauth', ...(issuer === undefined ? {} : { issuer }) }),
})
const FAR = target('https://mcp.example.com/mcp')
const saying = (more: object) => async (): Promise<Response> => Response.json({ ...METADATA, ...more })

const ENDPOINTS = ['authorization_endpoint', 'token_endpoint', 'registration_endpoint', 'revocation_endpoint']
const PLACES = [
  'http://localhost:8080/x',
  'http://127.0.0.1:631/x',
  'https://127.1/x',
  'https://[::1]/x',
  'https://[::ffff:10.0.0.1]/x',
  'https://192.168.1.1/x',
  'https://169.254.169.254/x',
  'https://app.localhost/x',
  'https://router.local./x',
  'https://intranet/x',
]

test.each(ENDPOINTS.flatMap((endpoint) => PLACES.map((place) => [endpoint, place] as const)))(
  'OAU-02, SSRF-09: %s of a server elsewhere is not at %s',
  async (endpoint, place) => {
    const sdk = await loadSdk()
    await expect(authorityAt(sdk, FAR, ISSUER, saying({ [endpoint]: place }))).rejects.toMatchObject({
      code: 'OAUTH_MISMATCH',
    })
  },
)

test('OAU-02: it may be there where a person has put the server, or its issuer, themselves', async () => {
  const sdk = await loadSdk()
  const near = saying({ authorization_endpoint: 'http://localhost:8080/authorize' })
  for (const one of [
    target('http://127.0.0.1:3000/mcp'),
    target('https://10.1.2.3/mcp'),
    target('https://mcp.example.com/mcp', 'http://localhost:8080'),
  ])
    expect(await authorityAt(sdk, one, ISSUER, near)).toMatchObject({ issuer: ISSUER })
  expect(await authorityAt(sdk, FAR, ISSUER, saying({}))).toMatchObject({ issuer: ISSUER })
})

test('OAU-02: nor is the issuer itself', async () => {
  const sdk = await loadSdk()
  const issuer = 'http://localhost:9'
  const fetch = async (url: string | URL): Promise<Response> =>
    String(url).includes('oauth-protected-resource')
      ? Response.json({ resource: FAR.url, authorization_servers: [issuer] })
      : Response.json({ ...METADATA, issuer })
  await expect(findAuthority(sdk, FAR, { metadataUrl: null }, () => fetch)).rejects.toMatchObject({
    code: 'OAUTH_MISMATCH',
  })
})
