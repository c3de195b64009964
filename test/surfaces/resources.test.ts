import type { Client } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Offered } from './offered.ts'
import { ERAS, openOffered } from './offered.ts'

const NOTE = '---\ntitle: The keys of the house\n---\n# Keys\n\nUnder the mat. 鍵 מפתח\n'

let offered: Offered
beforeAll(async () => {
  offered = await openOffered()
  offered.temp.write('knowledge/house_keys.md', NOTE)
  offered.temp.write('knowledge/a/twin.md', '---\ntitle: One twin\n---\nOne.\n')
  offered.temp.write('knowledge/b/twin.md', '---\ntitle: Other twin\n---\nOther.\n')
})
afterAll(() => offered.close())

const HOSTILE = [
  'kiwi://knowledge/../../etc/passwd',
  'kiwi://knowledge/%2e%2e/%2e%2e/etc/passwd',
  'kiwi://knowledge/%252e%252e',
  'kiwi://knowledge/a%00b',
  'kiwi://knowledge/a\0b',
  'kiwi://knowledge/%',
  'kiwi://knowledge/%ff',
  'kiwi://knowledge/',
  'kiwi://tools/hello_bash',
  'file:///etc/passwd',
  'http://127.0.0.1/',
  'nonsense',
  '',
]

describe.each(ERAS)('X11: for a client of the %s era', (era) => {
  let client: Client
  beforeAll(async () => {
    client = await offered.connect(era)
  })

  test('X11: knowledge is listed as resources, what is shipped too', async () => {
    const { resources } = await client.listResources()
    expect(resources).toContainEqual({
      uri: 'kiwi://knowledge/house_keys',
      name: 'house_keys',
      title: 'The keys of the house',
      description: 'The keys of the house',
      mimeType: 'text/markdown',
    })
    const uris = resources.map(({ uri }) => uri)
    expect(uris).toEqual(
      expect.arrayContaining([
        'kiwi://knowledge/a/twin',
        'kiwi://knowledge/b/twin',
        'kiwi://knowledge/kiwi-overview',
      ]),
    )
  })

  test('X11: any of it is read by the template, with its text alone', async () => {
    const { resourceTemplates } = await client.listResourceTemplates()
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
      'kiwi://knowledge/{+id}',
      'skill://{+path}',
    ])
    const uri = 'kiwi://knowledge/house_keys'
    expect((await client.readResource({ uri })).contents).toEqual([
      { uri, mimeType: 'text/markdown', text: '# Keys\n\nUnder the mat. 鍵 מפתח\n' },
    ])
    const twin = await client.readResource({ uri: 'kiwi://knowledge/b/twin' })
    expect(twin.contents[0]).toMatchObject({ text: 'Other.\n' })
  })

  test('X11: the ids of knowledge are completed', async () => {
    const complete = (uri: string, value: string) =>
      client.complete({ ref: { type: 'ref/resource', uri }, argument: { name: 'id', value } })
    const { completion } = await complete('kiwi://knowledge/{+id}', 'house')
    expect(completion.values).toEqual(['house_keys'])
    expect((await complete('skill://{+path}', 'house')).completion.values).toEqual([])
  })

  test('X11: one that is not there is not found, and is named', async () => {
    await expect(client.readResource({ uri: 'kiwi://knowledge/no_keys' })).rejects.toMatchObject({
      code: -32_602,
      data: { uri: 'kiwi://knowledge/no_keys' },
    })
  })

  test.each(HOSTILE)('X11: the address %j is answered with what is wrong', async (uri) => {
    await expect(client.readResource({ uri })).rejects.toMatchObject({
      code: -32_602,
      data: { code: 'INVALID_PARAMETERS' },
    })
  })
})

test('X11: an address of 10,000 characters is refused, and only its beginning is repeated', async () => {
  const client = await offered.connect('legacy')
  const uri = `kiwi://knowledge/${'x'.repeat(10_000)}`
  const error = await client.readResource({ uri }).catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ code: -32_602 })
  expect(String(error).length).toBeLessThan(1000)
})

test('X11: a client of the older era subscribes only to what is there', async () => {
  const client = await offered.connect('legacy')
  await expect(client.subscribeResource({ uri: 'kiwi://knowledge/no_keys' })).rejects.toMatchObject({
    data: { code: 'NOT_FOUND' },
  })
  await expect(client.subscribeResource({ uri: 'file:///etc/passwd' })).rejects.toMatchObject({
    code: -32_602,
  })
  await client.subscribeResource({ uri: 'kiwi://knowledge/house_keys' })
  await client.unsubscribeResource({ uri: 'kiwi://knowledge/house_keys' })
})
