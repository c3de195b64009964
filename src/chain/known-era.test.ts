import { expect, test } from 'vitest'
import type { Listing } from '../store/catalog.ts'
import { openKnownEra } from './known-era.ts'

const LISTING: Listing = {
  key: 'k',
  server: 'mcp_a',
  listed_at: 1000,
  hash: 'h',
  era: 'legacy',
  protocol: '2025-11-25',
  capabilities: { tools: {} },
  server_info: {},
  instructions: null,
}

const knownOf = async (listing: Listing, isOlder = false): Promise<unknown> => {
  const known = openKnownEra({ catalog: { listing: async () => listing } }, { now: () => 2000 })
  return known({ identity: 'k', isOlder, server: { kind: 'stdio' } })
}

test('M4: what a program said within the hour is believed, and not asked again', async () => {
  expect(await knownOf(LISTING)).toMatchObject({ era: 'legacy', judgedAt: 1000 })
  expect(await knownOf({ ...LISTING, listed_at: 2001 })).toBeNull()
  expect(await knownOf({ ...LISTING, listed_at: 2000 - 3_600_000 })).toBeNull()
})

test('X2: what was only spoken to in the older era, on purpose, may speak the other one', async () => {
  expect(await knownOf({ ...LISTING, protocol: '' })).toBeNull()
  expect(await knownOf({ ...LISTING, protocol: '' }, true)).toMatchObject({ era: 'legacy' })
})
