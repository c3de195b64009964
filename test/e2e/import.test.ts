import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { field, listField, textField } from '../fixtures/field.ts'
import type { Place } from '../fixtures/place.ts'
import { makePlace } from '../fixtures/place.ts'
import { kiwi } from './temp-server.ts'

let place: Place
let old: string
beforeAll(() => {
  place = makePlace()
  old = join(place.folder, '.script-kiwi')
  const put = (path: string, text: string): void => {
    mkdirSync(dirname(join(old, path)), { recursive: true })
    writeFileSync(join(old, path), text)
  }
  put('scripts/greet.sh', '#!/bin/bash\n# version: 1.0.0\n# Greets somebody\necho greetings\n')
  put('scripts/half.yaml', 'tool_type: [')
  put('scripts/notes.txt', 'notes')
  put('outputs/greet/1.json', '{}')
})
afterAll(() => place.remove())

describe('C15: kiwi import', () => {
  test('C15: where no client has a server it says so, and where it looked', async () => {
    const { code, stdout, stderr } = await kiwi(place, ['import', 'mcp'])
    expect([code, stdout]).toEqual([0, 'No servers were found, so nothing was imported\n'])
    expect(stderr).toMatch(/Looked at:\n.*\.mcp\.json/)
    expect(stderr).toContain('.cursor/mcp.json')
  })

  test('shows, writes, is run, does nothing twice and is taken back', async () => {
    const planned = await kiwi(place, ['import', old, '--dry-run'])
    expect(planned).toMatchObject({ code: 0, stderr: expect.stringContaining('Nothing was written') })
    expect(planned.stdout).toMatch(/imported +1\n +needs_repair +1\n +skipped +1\n/)
    expect(planned.stdout).toContain('history, left where it is: outputs (1)')
    expect(existsSync(join(place.folder, 'user/tools'))).toBe(false)

    const done = await kiwi(place, ['import', old])
    expect(done.stdout).toMatch(/^Imported from .*script-kiwi to /)
    expect(done.stdout).toMatch(/skipped +scripts\/notes\.txt +no kind of file that holds an item/)
    expect(done.stderr).toContain('kiwi load greet')
    expect((await kiwi(place, ['run', 'greet'])).stdout).toBe('greetings\n')
    expect((await kiwi(place, ['import', old])).stderr).toContain('everything is there already')

    const batches: unknown = JSON.parse((await kiwi(place, ['import', '--list', '--json'])).stdout)
    const batch = textField(batches, 0, 'batch')
    expect(done.stderr).toContain(`kiwi import --undo ${batch}`)
    expect((await kiwi(place, ['import', '--list'])).stdout).toContain(batch)
    const asked = await kiwi(place, ['import', '--undo', batch])
    expect(asked).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') })
    expect((await kiwi(place, ['import', '--undo', batch, '--yes'])).stdout).toMatch(/removed +2/)
    expect(existsSync(join(place.folder, 'user/tools'))).toBe(false)
  })

  test('--json has the whole report', async () => {
    const reply: unknown = JSON.parse((await kiwi(place, ['import', old, '--dry-run', '--json'])).stdout)
    expect(field(reply, 'status')).toBe('dry_run')
    expect(listField(field(reply, 'data'), 'items')).toMatchObject([
      { id: 'half', state: 'needs_repair' },
      { id: 'greet', type: 'tool', state: 'imported', signature: 'unsigned', proposed: { secrets: [] } },
    ])
  })

  test.each([
    [['import'], 'INVALID_PARAMETERS'],
    [['import', '/nowhere/at/all'], 'NOT_FOUND'],
    [['import', '.', '--to', 'registry'], 'INVALID_PARAMETERS'],
    [['import', '--undo', 'x', '--yes'], 'NOT_FOUND'],
  ])('%j is refused with %s', async (args, code) => {
    const { code: exit, stderr } = await kiwi(place, args)
    expect(exit).not.toBe(0)
    expect(stderr).toContain(code)
  })
})
