import { expect } from 'vitest'
import type { Cases } from './store-bed.ts'

const PROJECT = { path: '/home/me/a', trusted_at: '2026-01-28T12:34:56.000Z', trusted_by: 'user:me' }
const SIGNATURE = {
  place: '/home/me/a/.ai/tools/x.json',
  content_hash: 'a'.repeat(64),
  time: '2026-01-28T12:34:56Z',
  signature: 'S'.repeat(86),
  fingerprint: '0123456789abcdef',
}

export const trustCases: Cases = {
  async 'N17: a project that is trusted in one process is so in all, until it is revoked'(bed) {
    const [store, other] = [await bed.open(), await bed.open()]
    const start = other.generation()
    await store.trust.trustProject(PROJECT)
    await store.trust.trustProject({ ...PROJECT, trusted_by: 'user:other' })
    expect(await other.trust.projects()).toEqual([PROJECT])
    const trusted = other.generation()
    expect(trusted).toBeGreaterThan(start)
    await other.trust.revokeProject(PROJECT.path)
    await other.trust.revokeProject('/never')
    expect(await store.trust.projects()).toEqual([])
    expect(store.generation()).toBeGreaterThan(trusted)
  },

  async 'N17: a server of a project is kept as a person trusted it, until they say otherwise'(bed) {
    const [store, other] = [await bed.open(), await bed.open()]
    const first = {
      project: PROJECT.path,
      server: 'mcp_a',
      identity: 'a'.repeat(64),
      parts: { 'env.MODE': 'c'.repeat(64) },
      kept_at: PROJECT.trusted_at,
      kept_by: 'user:me',
    }
    const changed = { ...first, identity: 'b'.repeat(64) }
    expect(await store.trust.launch(PROJECT.path, 'mcp_a')).toBeNull()
    await store.trust.trustLaunch(first)
    const { identity, parts } = first
    expect(await other.trust.launch(PROJECT.path, 'mcp_a')).toEqual({ identity, parts })
    const start = other.generation()
    await store.trust.trustLaunch(changed)
    expect(other.generation()).toBeGreaterThan(start)
    expect(await other.trust.launch(PROJECT.path, 'mcp_a')).toEqual({ identity: changed.identity, parts })
    expect(await other.trust.launch('/another', 'mcp_a')).toBeNull()
    await store.trust.revokeProject(PROJECT.path)
    expect(await other.trust.launch(PROJECT.path, 'mcp_a')).toBeNull()
  },

  async 'N12: a signature without a line is kept by its place, the latest only'(bed) {
    const [store, other] = [await bed.open(), await bed.open()]
    const start = other.generation()
    expect(await store.trust.signature(SIGNATURE.place)).toBeNull()
    await store.trust.sign({ ...SIGNATURE, content_hash: 'b'.repeat(64) })
    await store.trust.sign(SIGNATURE)
    expect(await other.trust.signature(SIGNATURE.place)).toEqual(SIGNATURE)
    expect(other.generation()).toBeGreaterThan(start)
  },
}
