import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { LoopbackServer } from './fixtures/loopback-server.ts'
import { openLoopbackServer, reply } from './fixtures/loopback-server.ts'
import type { TempKiwi } from './temp-kiwi.ts'
import { openTempKiwi } from './temp-kiwi.ts'

let temp: TempKiwi
let closed: LoopbackServer
let open: LoopbackServer
beforeEach(async () => {
  closed = await openLoopbackServer((request) => reply(request, 200, 'from the closed one'))
  open = await openLoopbackServer((request) =>
    request.path === '/direct'
      ? reply(request, 200, 'from the open one')
      : reply(request, 302, '', { location: `${closed.url}/data` }),
  )
  temp = await openTempKiwi({ settings: { allow_hosts: [open.host, closed.host] } })
  await temp.create('direct', api(`${open.url}/direct`))
  await temp.create('led', api(`${open.url}/elsewhere`))
})
afterEach(async () => {
  await temp.close()
  await Promise.all([open.close(), closed.close()])
})

const api = (url: string): object => ({ tool_type: 'api', description: 'a page', config: { url } })
const harness = (rules: string): string =>
  temp.write('config/agent_harness.yaml', `mode: direct\nrules: [${rules}]\n`)

describe('PRM-05: rules of hosts hold for what is reached, not for what is written', () => {
  test('without a rule a redirect is followed', async () => {
    expect((await temp.run('led')).data).toMatchObject({ output: 'from the closed one' })
  })

  test.each(['deny', 'ask'])('a redirect does not lead to a host that a rule says %s of', async (effect) => {
    harness(`{op: net, match: {host: '${closed.host}'}, effect: ${effect}}`)
    const { error } = await temp.run('led')
    expect(error?.message).toContain(`no rule lets "${closed.host}" be reached`)
    expect(closed.received).toEqual([])
    expect((await temp.run('direct')).error).toBeNull()
  })

  test('a host that is refused is refused at every port', async () => {
    harness(`{op: net, match: {host: 127.0.0.1}, effect: deny}`)
    expect((await temp.run('direct')).error).toMatchObject({ code: 'PERMISSION_DENIED' })
    expect(open.received).toEqual([])
  })
})
