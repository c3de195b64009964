import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Approval } from '../store/approvals.ts'
import { sampleApproval } from '../../test/fixtures/store-samples.ts'
import { openApprover } from './approver.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kiwi-approver-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const { mac: _none, ...ROW } = sampleApproval({
  state: 'approved',
  decided_by: 'user:me',
  channel: 'terminal',
  decided_at: 1500,
})

test('N5: the key is made at first need, for its owner only, and two processes make one', async () => {
  const path = join(folder, 'new', 'kiwi.approver')
  const [one, other] = [openApprover(path), openApprover(path)]
  expect(await one.isKey('')).toBe(false)
  const [sealed] = await Promise.all([one.seal(ROW), other.seal(ROW)])
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(await other.isSealed(sealed)).toBe(true)
  expect(await other.isKey(readFileSync(path, 'utf8'))).toBe(true)
  expect(await other.isKey('x'.repeat(43))).toBe(false)
  expect(await one.noticeSecret()).not.toContain(readFileSync(path, 'utf8').trim())
})

test('APR-02, N5: a row that was changed by hand in any field is no approval; that it was used is no change', async () => {
  const approver = openApprover(join(folder, 'kiwi.approver'))
  const sealed = await approver.seal(ROW)
  expect(await approver.isSealed({ ...sealed, state: 'used', used_at: 5 })).toBe(true)
  const changes: readonly Partial<Approval>[] = [
    { state: 'pending' },
    { call_hash: 'b'.repeat(64) },
    { expires_at: 9 },
    { scope: 'run' },
    { principal: 'other' },
    { summary: { tool: 'y' } },
    { decided_by: 'user:other' },
    { id: 'other' },
    { mac: '' },
    { mac: `${sealed.mac.slice(0, -1)}x` },
  ]
  for (const change of changes)
    expect(await approver.isSealed({ ...sealed, ...change }), JSON.stringify(change)).toBe(false)
  expect(await openApprover(join(folder, 'none')).isSealed(sealed)).toBe(false)
})
