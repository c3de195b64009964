import { expect } from 'vitest'
import type { StoredGrant } from '../../src/store/grants.ts'
import type { Cases } from './store-bed.ts'

const GRANT: StoredGrant = {
  principal: '*',
  tool: 'weather',
  digest: 'a'.repeat(64),
  secret: 'WEATHER_KEY',
  sink: 'host:api.example.com',
  granted_at: '2026-01-28T12:34:56.000Z',
  granted_by: 'user:me',
}
const OTHER: StoredGrant = { ...GRANT, tool: 'mail', secret: 'MAIL_KEY', sink: null }

export const grantCases: Cases = {
  async 'X7: a grant that was given in one process is there in all, until it is taken back'(bed) {
    const [store, other] = [await bed.open(), await bed.open()]
    await store.grants.give([GRANT, OTHER])
    expect(await other.grants.read()).toEqual([OTHER, GRANT])
    expect(await other.grants.read('weather')).toEqual([GRANT])
    expect(await other.grants.read('unknown')).toEqual([])
    expect([
      await other.grants.revoke('weather', 'NONE'),
      await other.grants.revoke('weather', null),
    ]).toEqual([0, 1])
    expect(await store.grants.read()).toEqual([OTHER])
    expect(await store.grants.revoke('mail', 'MAIL_KEY')).toBe(1)
    expect(await store.grants.read()).toEqual([])
  },

  async 'X7: given again it replaces the places, and leaves other contents, secrets and principals'(bed) {
    const store = await bed.open()
    const beside = [
      { ...GRANT, digest: 'b'.repeat(64) },
      { ...GRANT, secret: 'ANOTHER' },
      { ...GRANT, principal: 'local' },
    ]
    await store.grants.give([GRANT, { ...GRANT, sink: 'header:x-key' }, ...beside])
    expect(await store.grants.read('weather')).toHaveLength(5)
    const again = { ...GRANT, sink: null, granted_at: '2026-02-01T00:00:00.000Z' }
    await store.grants.give([again])
    const left = await store.grants.read('weather')
    expect(left).toHaveLength(4)
    expect(left).toEqual(expect.arrayContaining([again, ...beside]))
  },
}
