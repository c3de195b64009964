import { expect, test, vi } from 'vitest'
import type { JsonObject } from '../shared/json.ts'
import { busOf, openNotices } from './passthrough-notices.ts'

interface Heard {
  readonly method: string
  readonly params: JsonObject
}

const CAPABILITIES = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { subscribe: true },
}

/** A server behind that tells what the test says. */
function openBehind(era: 'legacy' | 'modern') {
  const listeners = new Set<(notice: Heard & { key: string; id: string }) => void>()
  const listened: {
    params: JsonObject
    signal: AbortSignal
    tell: (method: string, params: JsonObject) => void
  }[] = []
  const sent: Heard[] = []
  const server = { era, capabilities: CAPABILITIES, serverInfo: {}, instructions: null, key: 'mine' }
  const notices = openNotices({
    open: async () => ({
      onNotice(listener) {
        listeners.add(listener)
        return () => void listeners.delete(listener)
      },
    }),
    described: () => Promise.resolve(server),
    async listen(params, tell, signal) {
      listened.push({ params, tell, signal })
    },
    send: (method, params) => void sent.push({ method, params }),
  })
  const say = (method: string, params: JsonObject = {}, key = 'mine'): void => {
    for (const listener of listeners) listener({ key, id: 'server', method, params })
  }
  return { notices, listeners, listened, sent, say }
}

test('X2: what the server tells reaches who hears it, what another one tells does not', async () => {
  const { notices, listeners, say } = openBehind('legacy')
  const heard: string[] = []
  const end = notices.hear((method) => heard.push(method))
  await vi.waitFor(() => expect(listeners.size).toBe(1))
  say('notifications/tools/list_changed')
  say('notifications/prompts/list_changed', {}, 'another')
  end()
  expect(listeners.size).toBe(0)
  expect(heard).toEqual(['notifications/tools/list_changed'])
})

test('X2: a server that was lost and is back may have changed', async () => {
  const { notices, listeners, say } = openBehind('legacy')
  const heard: string[] = []
  notices.hear((method) => heard.push(method))
  await vi.waitFor(() => expect(listeners.size).toBe(1))
  say('kiwi/restarted')
  expect(heard).toEqual(['notifications/tools/list_changed', 'notifications/prompts/list_changed'])
  await vi.waitFor(() => expect(listeners.size).toBe(1))
  notices.close()
})

test('X2: one of the older era is told again what it had to remember, and what was missed is told', async () => {
  const { notices, listeners, sent, say } = openBehind('legacy')
  const heard: unknown[] = []
  notices.hear((method, params) => heard.push([method, params['uri']]))
  await vi.waitFor(() => expect(listeners.size).toBe(1))
  await notices.watch(['test://a'])
  notices.keep('resources/subscribe', { uri: 'test://b' })
  notices.keep('resources/subscribe', { uri: 'test://c' })
  notices.keep('resources/unsubscribe', { uri: 'test://c' })
  notices.keep('logging/setLevel', { level: 'error' })
  notices.keep('logging/setLevel', { level: 'debug' })
  sent.length = 0
  say('kiwi/restarted')
  expect(sent).toEqual([
    { method: 'resources/subscribe', params: { uri: 'test://a' } },
    { method: 'resources/subscribe', params: { uri: 'test://b' } },
    { method: 'logging/setLevel', params: { level: 'debug' } },
  ])
  expect(heard.slice(2)).toEqual([
    ['notifications/resources/updated', 'test://a'],
    ['notifications/resources/updated', 'test://b'],
  ])
  notices.close()
})

test('X2: a server of the newer era is listened to for what the connection does not hear, while somebody listens', async () => {
  const { notices, listened } = openBehind('modern')
  const events: unknown[] = []
  const end = busOf(notices).subscribe((event) => events.push(event))
  await vi.waitFor(() => expect(listened).toHaveLength(1))
  expect(listened[0]?.params).toEqual({ notifications: { promptsListChanged: true } })
  await notices.watch(['test://a', 'test://b'])
  await notices.watch(['test://a'])
  await vi.waitFor(() => expect(listened).toHaveLength(2))
  expect(listened[0]?.signal.aborted).toBe(true)
  expect(listened[1]?.params).toMatchObject({
    notifications: { resourceSubscriptions: ['test://a', 'test://b'] },
  })
  listened[1]?.tell('notifications/resources/updated', { uri: 'test://a' })
  listened[1]?.tell('notifications/prompts/list_changed', {})
  listened[1]?.tell('notifications/anything', {})
  expect(events).toEqual([{ kind: 'resource_updated', uri: 'test://a' }, { kind: 'prompts_list_changed' }])
  end()
  expect(listened[1]?.signal.aborted).toBe(true)
})

test('X2: a server of the older era is subscribed to for who listens in the newer one', async () => {
  const { notices, sent } = openBehind('legacy')
  await notices.watch(['test://a'])
  await notices.watch(['test://a', 'test://b'])
  expect(sent).toEqual([
    { method: 'resources/subscribe', params: { uri: 'test://a' } },
    { method: 'resources/subscribe', params: { uri: 'test://b' } },
  ])
})
