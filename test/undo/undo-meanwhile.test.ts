import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Reply } from '../../src/shared/reply.ts'
import { listField, textField } from '../fixtures/field.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { BASH, openTempKiwi } from '../temp-kiwi.ts'

let temp: TempKiwi
beforeEach(async () => {
  temp = await openTempKiwi()
  writeFileSync(at('a.txt'), 'before')
  writeFileSync(at('b.txt'), 'before')
})
afterEach(() => temp.close())

const at = (path: string): string => join(temp.project, path)
const read = (path: string): string | null => (existsSync(at(path)) ? readFileSync(at(path), 'utf8') : null)
const undo = (id: string, more: object = {}): Promise<Reply> =>
  temp.call('execute', { item_type: 'tool', action: 'undo', item_id: id, ...more })
const undoAsPerson = (id: string, more: object = {}): Promise<Reply> =>
  temp.kiwi.call(
    'execute',
    { item_type: 'tool', action: 'undo', item_id: id, ...more },
    {
      principal: 'user:ada',
      session: 'terminal',
      kind: 'person',
      defaultProject: () => Promise.resolve(temp.project),
    },
  )

/** A person works while a command of an agent runs, which ends longer than two seconds after it began. */
async function workMeanwhile(): Promise<string> {
  const running = temp.run('shell.run', { command: 'touch begun && sleep 2.5 && rm b.txt' })
  await vi.waitFor(() => expect(existsSync(at('begun'))).toBe(true), { timeout: 20_000 })
  writeFileSync(at('a.txt'), "a person's work")
  writeFileSync(at('new.txt'), "a person's work")
  return textField((await running).data, 'undo_id')
}

test('H4: what a person did while a command ran is not undone by an agent; what the command names is', async () => {
  const id = await workMeanwhile()
  const done = await undo(id)
  expect(done).toMatchObject({ status: 'success', data: { totals: { conflict: 2 }, undone: [] } })
  expect([read('a.txt'), read('new.txt')]).toEqual(["a person's work", "a person's work"])
  expect([read('b.txt'), read('begun')]).toEqual(['before', null])
  expect(done.metadata.warnings?.join()).toContain(`a person looks at them with kiwi undo ${id}`)
})

test('H4: a person is told what was changed meanwhile and when, and may take all of it back', async () => {
  const id = await workMeanwhile()
  const preview = await undoAsPerson(id, { dry_run: true })
  const line = listField(preview.data, 'paths').find((each) => textField(each, 'path') === at('a.txt'))
  expect(line).toMatchObject({
    action: 'restore',
    reason: 'it was changed while the call ran, by it or by somebody else',
    changed_at: expect.stringMatching(/^\d{4}-/),
  })
  const done = await undoAsPerson(id)
  expect([read('a.txt'), read('new.txt'), read('b.txt')]).toEqual(['before', null, 'before'])
  await undoAsPerson(textField(done.data, 'undo_id'))
  expect(read('a.txt')).toBe("a person's work")
})

test('H4: of a quick command nothing is in doubt', async () => {
  await temp.create(
    'quick',
    { ...BASH, mutates_state: true, config: { cwd: temp.project } },
    { 'main.sh': 'echo x > a.txt' },
  )
  const reply = await temp.run('quick')
  await undo(textField(reply.data, 'undo_id'))
  expect(read('a.txt')).toBe('before')
})
