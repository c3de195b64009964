import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { TempUpstreams } from '../../test/fixtures/temp-upstreams.ts'
import { openTempUpstreams } from '../../test/fixtures/temp-upstreams.ts'
import type { JsonObject } from '../shared/json.ts'
import type { Notice } from '../shared/progress.ts'
import type { UpstreamNotice } from './upstream.ts'

let temp: TempUpstreams
beforeEach(() => {
  temp = openTempUpstreams()
})
afterEach(() => temp.close())

const PROGRESS = 'notifications/progress'
const LOG = 'notifications/message'

describe('S12: what an upstream tells', () => {
  test('S12: progress goes to the call whose token it names, without the token', async () => {
    const heard: JsonObject[] = []
    const other: JsonObject[] = []
    const waiting = temp.call('later', { word: 'w', ms: 100 }, { progress: (params) => other.push(params) })
    const notices = [{ method: PROGRESS, params: { progress: 1, total: 2 } }]
    await temp.call('tells', { notices }, { progress: (params) => heard.push(params) })
    expect(heard).toEqual([{ progress: 1, total: 2, at: 0 }])
    await waiting
    expect(other).toEqual([])
  })

  test('UP-06: a flood of progress is thinned, and its last one arrives before the answer', async () => {
    const heard: JsonObject[] = []
    const notices = [{ method: PROGRESS, params: { progress: 1 }, count: 5000 }]
    await temp.call('tells', { notices }, { progress: (params) => heard.push(params) })
    expect(heard.length).toBeLessThan(300)
    expect(heard.at(-1)).toEqual({ progress: 1, at: 4999 })
  })

  test('S12: the log goes to the one who calls, and to nobody where several do', async () => {
    const heard: Notice[] = []
    const notices = [{ method: LOG, params: { level: 'info', data: 'x' } }]
    const more = { tell: (notice: Notice) => void heard.push(notice) }
    await temp.call('tells', { notices }, { ...more, caller: 'a' })
    expect(heard).toEqual([{ from: 'good', method: LOG, params: { level: 'info', data: 'x', at: 0 } }])
    const waiting = temp.call('later', { word: 'w', ms: 100 }, { ...more, caller: 'b' })
    await temp.call('tells', { notices }, { ...more, caller: 'a' })
    await waiting
    expect(heard).toHaveLength(1)
  })

  test('UP-06: a storm of list_changed is told once at once and once a second later', async () => {
    const heard: UpstreamNotice[] = []
    temp.upstreams.onNotice((notice) => heard.push(notice))
    const method = 'notifications/tools/list_changed'
    const storm = Array.from({ length: 2000 }, () => ({ method }))
    await temp.call('tells', {
      notices: [...storm, { method: 'notifications/resources/updated', params: { uri: 'u' } }],
    })
    expect(heard).toEqual([{ key: 'good', id: 'good', method, params: { at: 0 } }])
    await expect.poll(() => heard.length, { timeout: 5000 }).toBe(3)
    expect(heard.slice(1)).toEqual([
      { key: 'good', id: 'good', method, params: { at: 0 } },
      { key: 'good', id: 'good', method: 'notifications/resources/updated', params: { uri: 'u', at: 0 } },
    ])
  })

  test('M4: a modern upstream is asked to tell of changes, and what belongs to a subscription goes to who opened it', async () => {
    const heard: UpstreamNotice[] = []
    temp.upstreams.onNotice((notice) => heard.push(notice))
    await temp.pid('modern')
    await expect
      .poll(() => heard.map(({ method }) => method), { timeout: 5000 })
      .toContain('notifications/tools/list_changed')
    const told: Notice[] = []
    const controller = new AbortController()
    const listening = temp.upstreams.request(temp.upstream('modern'), {
      method: 'subscriptions/listen',
      params: { notifications: { promptsListChanged: true } },
      timeoutMs: Number.POSITIVE_INFINITY,
      isRepeatable: true,
      signal: controller.signal,
      tell: (notice) => told.push(notice),
    })
    await expect
      .poll(() => told.map(({ method }) => method), { timeout: 5000 })
      .toEqual(['notifications/subscriptions/acknowledged', 'notifications/tools/list_changed'])
    controller.abort()
    await expect(listening).rejects.toMatchObject({ code: 'CANCELLED' })
  })
})
