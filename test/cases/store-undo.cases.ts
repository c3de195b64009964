import { expect } from 'vitest'
import { sha256 } from '../../src/shared/json.ts'
import type { KeptBytes, NewCheckpoint, PathChange } from '../../src/store/undo.ts'
import type { Cases } from './store-bed.ts'

const checkpoint = (call_id: string, more: Partial<NewCheckpoint> = {}): NewCheckpoint => ({
  call_id,
  run: null,
  session: 'session',
  principal: 'tester',
  project: '/p',
  tool: 'a',
  tier: 'files',
  wall: 1000,
  ...more,
})

const bytesOf = (text: string): KeptBytes => ({ hash: sha256(text), bytes: Buffer.from(text) })
const changeOf = (path: string, text: string): PathChange => ({
  path,
  before: { kind: 'file', mode: 0o644, hash: sha256(text) },
  after: null,
})

export const undoCases: Cases = {
  async 'H4: what was there before is kept, by its hash, and read by another process'(bed) {
    const [store, other] = [await bed.open(), await bed.open()]
    const long = 'x'.repeat(10_000)
    const changes = [changeOf('/p/a', long), changeOf('/p/b', 'short')]
    await store.undo.open(checkpoint('c1'), changes, [bytesOf(long), bytesOf('short')])
    expect(await other.undo.find('c1')).toMatchObject([{ call_id: 'c1', state: 'open', details: {} }])
    expect(await other.undo.unfinished('/p')).toHaveLength(1)
    expect(await other.undo.changes('c1')).toEqual(changes)
    expect(Buffer.from((await other.undo.bytes(sha256(long))) ?? []).toString()).toBe(long)
    expect(Buffer.from((await other.undo.bytes(sha256('short'))) ?? []).toString()).toBe('short')
    expect(await other.undo.bytes(sha256('never'))).toBeNull()
  },

  async 'H4: a closed checkpoint holds what changed, and only its bytes'(bed) {
    const store = await bed.open()
    await store.undo.open(
      checkpoint('c1'),
      [changeOf('/p/a', 'one'), changeOf('/p/b', 'two')],
      [bytesOf('one'), bytesOf('two')],
    )
    const left = [{ ...changeOf('/p/a', 'one'), after: { kind: 'absent' } as const }]
    await store.undo.close('c1', left, { details: { skipped: ['big'] } })
    expect(await store.undo.find('c1')).toMatchObject([{ state: 'closed', details: { skipped: ['big'] } }])
    expect(await store.undo.changes('c1')).toEqual(left)
    expect(await store.undo.bytes(sha256('one'))).not.toBeNull()
    expect(await store.undo.bytes(sha256('two'))).toBeNull()
    expect(await store.undo.unfinished('/p')).toEqual([])
  },

  async 'H4: the newest that nobody took back are listed, newest first, as many as are asked for'(bed) {
    const store = await bed.open()
    for (const id of ['c1', 'c2', 'c3', 'c4']) await store.undo.open(checkpoint(id), [], [])
    await store.undo.markUndone(['c3'], 'c4')
    const ids = async (limit: number) => (await store.undo.standing(limit)).map(({ call_id }) => call_id)
    expect(await ids(9)).toEqual(['c4', 'c2', 'c1'])
    expect(await ids(2)).toEqual(['c4', 'c2'])
  },

  async 'H4: calls are found by call, run and session, newest first'(bed) {
    const store = await bed.open()
    await store.undo.open(checkpoint('c1', { run: 'r' }), [], [])
    await store.undo.open(checkpoint('c2', { run: 'r' }), [], [])
    await store.undo.open(checkpoint('c3', { session: 'other' }), [], [])
    const ids = async (id: string) => (await store.undo.find(id)).map(({ call_id }) => call_id)
    expect(await ids('c2')).toEqual(['c2'])
    expect(await ids('r')).toEqual(['c2', 'c1'])
    expect(await ids('other')).toEqual(['c3'])
    expect(await ids('none')).toEqual([])
    await store.undo.discard('c1')
    expect(await ids('r')).toEqual(['c2'])
  },

  async 'H4: a call that was undone stands again when its undo is undone'(bed) {
    const store = await bed.open()
    for (const id of ['c1', 'u1', 'u2']) {
      await store.undo.open(checkpoint(id), [], [])
      await store.undo.close(id, [])
    }
    const stateOf = async (id: string) => (await store.undo.find(id))[0]
    await store.undo.markUndone(['c1'], 'u1')
    expect(await stateOf('c1')).toMatchObject({ state: 'undone', undone_by: 'u1' })
    await store.undo.markUndone(['u1'], 'u2')
    expect(await stateOf('u1')).toMatchObject({ state: 'undone', undone_by: 'u2' })
    expect(await stateOf('c1')).toMatchObject({ state: 'closed', undone_by: null })
  },

  async 'H4: beyond bytes, files or age the oldest go, and never the newest for its size'(bed) {
    const store = await bed.open()
    const words = ['one', 'two', 'three']
    for (const [at, word] of words.entries())
      await store.undo.open(
        checkpoint(`c${at}`, { wall: at * 1000 }),
        [changeOf('/p/a', word)],
        [bytesOf(word)],
      )
    const left = async () => (await store.undo.find('session')).map(({ call_id }) => call_id)
    expect(await store.undo.trim({ bytes: 1000, files: 1000, since: 0 })).toBe(0)
    expect(await store.undo.trim({ bytes: 1000, files: 2, since: 0 })).toBe(1)
    expect(await left()).toEqual(['c2', 'c1'])
    expect(await store.undo.bytes(sha256('one'))).toBeNull()
    expect(await store.undo.trim({ bytes: 1, files: 1000, since: 0 })).toBe(1)
    expect(await left()).toEqual(['c2'])
    expect(await store.undo.trim({ bytes: 1000, files: 1000, since: 5000 })).toBe(1)
    expect(await left()).toEqual([])
  },
}
