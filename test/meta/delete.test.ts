import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Reply } from '../../src/shared/reply.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { BASH, openTempKiwi } from '../temp-kiwi.ts'

let temp: TempKiwi
beforeAll(async () => {
  temp = await openTempKiwi()
})
afterAll(() => temp.close())

describe('delete', () => {
  test('T11: a lower version beside a higher one is reported as what it is; versions are not deleted alone', async () => {
    const publish = (version: string): Promise<Reply> =>
      temp.create('versioned', { ...BASH, version }, { 'main.sh': `echo ${version}` }, 'registry')
    expect((await publish('2.0.0')).data).toMatchObject({ version: '2.0.0' })
    expect((await publish('1.5.0')).data).toMatchObject({ version: '1.5.0' })
    const remove = (item_id: string): Promise<Reply> =>
      temp.call('execute', { item_type: 'tool', action: 'delete', item_id, parameters: { confirm: true } })
    expect((await remove('versioned@1.5.0')).error).toMatchObject({ code: 'INVALID_PARAMETERS' })
    expect(await temp.run('versioned@1.5.0')).toMatchObject({ data: { output: '1.5.0\n' } })
    expect((await remove('versioned')).error).toMatchObject({
      code: 'PERMISSION_DENIED',
      hint: expect.stringContaining('kiwi delete versioned --location registry --yes'),
    })
    expect(await temp.run('versioned@1.5.0')).toMatchObject({ data: { output: '1.5.0\n' } })
  })

  test('T5: only a person removes from the registry, by its name; a version never comes back as another', async () => {
    const person = await openTempKiwi({ beside: temp, kind: 'person' })
    try {
      const remove = (by: TempKiwi, parameters: object): Promise<Reply> =>
        by.call('execute', { item_type: 'tool', action: 'delete', item_id: 'kept', parameters })
      const create = (line: string, location: string): Promise<Reply> =>
        temp.create('kept', BASH, { 'main.sh': line }, location)
      await create('echo one', 'project')
      await temp.call('execute', { item_type: 'tool', action: 'publish', item_id: 'kept' })
      const path = join(temp.project, '.ai/tools/kept')
      const near = (await remove(temp, {})).error
      expect(near).toMatchObject({ code: 'CONFIRM_REQUIRED', message: expect.stringContaining(path) })
      expect((await remove(temp, { confirm: true })).status).toBe('success')
      expect((await remove(temp, { confirm: true })).error?.code).toBe('PERMISSION_DENIED')
      expect((await remove(temp, { confirm: true, location: 'registry' })).error?.code).toBe(
        'PERMISSION_DENIED',
      )
      const asked = (await remove(person, { confirm: true })).error
      expect(asked).toMatchObject({
        code: 'CONFIRM_REQUIRED',
        message: expect.stringContaining('its one version (1.0.0) would go from the registry'),
        fix: { arguments: { parameters: { location: 'registry', confirm: true } } },
      })
      expect(await temp.run('kept')).toMatchObject({ data: { output: 'one\n' } })
      expect((await person.call('execute', asked?.fix?.arguments)).status).toBe('success')
      expect((await person.run('kept')).error?.code).toBe('NOT_FOUND')
      expect((await create('echo other', 'registry')).error?.code).toBe('VERSION_EXISTS')
      expect((await create('echo one', 'registry')).status).toBe('success')
    } finally {
      await person.close()
    }
  })

  test('S8: a file that cannot be read is not replaced, can be deleted, and then made anew', async () => {
    const path = temp.write('tools/broken.yaml', 'a: [')
    expect((await temp.create('broken', BASH, { 'main.sh': 'echo mended' })).error).toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining(path),
      hint: expect.stringContaining('delete it first'),
      details: { path, reason: expect.stringContaining('Cannot read') },
    })
    const remove = (item_id: string, more = {}): Promise<Reply> =>
      temp.call('execute', {
        item_type: 'tool',
        action: 'delete',
        item_id,
        parameters: { confirm: true, ...more },
      })
    expect((await remove('broken@1.0.0')).error?.code).toBe('INVALID_PARAMETERS')
    expect((await remove('broken', { location: 'user' })).error?.code).toBe('NOT_FOUND')
    expect(existsSync(path)).toBe(true)
    expect(await remove('broken')).toMatchObject({ status: 'success', data: { source: 'project', path } })
    expect(existsSync(path)).toBe(false)
    expect((await temp.create('broken', BASH, { 'main.sh': 'echo mended' })).status).toBe('success')
    expect(await temp.run('broken')).toMatchObject({ data: { output: 'mended\n' } })
  })

  test('S8: deleting what cannot be read takes that file, and not a sound one of its name nearer by', async () => {
    const near = temp.write('knowledge/both.md', '# Both')
    const user = join(temp.folder, 'user/tools/both.yaml')
    mkdirSync(dirname(user), { recursive: true })
    writeFileSync(user, 'a: [')
    const reply = await temp.call('execute', {
      item_type: 'directive',
      action: 'delete',
      item_id: 'both',
      parameters: { confirm: true },
    })
    expect(reply).toMatchObject({ status: 'success', data: { source: 'user', path: user } })
    expect([existsSync(near), existsSync(user)]).toEqual([true, false])
  })
})
