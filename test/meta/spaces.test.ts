import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { field } from '../fixtures/field.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { BASH, openTempKiwi, resultsOf } from '../temp-kiwi.ts'

let temp: TempKiwi
beforeEach(async () => {
  temp = await openTempKiwi()
})
afterEach(() => temp.close())

const says = (word: string): string => `#!/bin/bash\n# version: 1.0.0\n# says ${word}\necho ${word}\n`

function putUser(path: string, text: string): string {
  const at = join(temp.config.userSpace, path)
  mkdirSync(dirname(at), { recursive: true })
  writeFileSync(at, text)
  return at
}

const outputOf = async (id: string): Promise<unknown> => {
  // What is new in the way of something else is seen by every search, and otherwise within a second.
  await temp.search(id)
  const { data, error } = await temp.run(id)
  return error?.code ?? field(data, 'output')
}

describe('L1: one name in several spaces', () => {
  test('project before user before shipped before registry', async () => {
    expect(await temp.create('order', BASH, { 'main.sh': 'echo registry' }, 'registry')).toMatchObject({
      status: 'success',
    })
    expect(await outputOf('order')).toBe('registry\n')
    putUser('tools/order.sh', says('user'))
    expect(await outputOf('order')).toBe('user\n')
    temp.write('tools/deep/down/order.sh', says('project'))
    expect(await outputOf('order')).toBe('project\n')
    // What is shipped and not reserved stands behind files, and before nothing but the registry.
    expect(await outputOf('hello_bash')).toBe('Hello, World!\n')
    putUser('tools/hello_bash.sh', says('mine'))
    expect(await outputOf('hello_bash')).toBe('mine\n')
  })

  test('a category is a part of the name in every space', async () => {
    temp.write('tools/web/mail/send.sh', says('mail'))
    putUser('tools/post/send.sh', says('post'))
    expect(await outputOf('send')).toBe('mail\n')
    expect(await outputOf('web/mail/send')).toBe('mail\n')
    expect(await outputOf('post/send')).toBe('post\n')
    expect(await outputOf('mail/send')).toBe('NOT_FOUND')
    expect(await outputOf('web/send')).toBe('NOT_FOUND')
  })

  test('two files of one stem are refused with both paths, unless the path form is used or one lies in the root', async () => {
    const paths = [
      temp.write('tools/a/twin.sh', says('a')),
      temp.write('tools/b/twin.py', '"""D."""\nprint("b")\n'),
    ]
    const { error } = await temp.run('twin')
    expect(error?.code).toBe('AMBIGUOUS_ID')
    for (const path of paths) expect(error?.message).toContain(path)
    expect(error?.hint).toBe('Write a/twin or b/twin')
    expect(error?.details).toMatchObject({
      candidates: [
        { id: 'a/twin', path: paths[0] },
        { id: 'b/twin', path: paths[1] },
      ],
    })
    expect(await outputOf('a/twin')).toBe('a\n')
    temp.write('tools/twin.sh', says('root'))
    expect(await outputOf('twin')).toBe('root\n')
  })
})

describe('L1: what is never an item', () => {
  test('a library, wherever it lies', async () => {
    temp.write('tools/lib/shared.sh', says('lib'))
    temp.write('tools/web/lib/other.py', 'X = 1')
    temp.write('scripts/lib/old.py', 'X = 1')
    putUser('tools/lib/mine.sh', says('lib'))
    for (const id of ['shared', 'lib/shared', 'other', 'web/lib/other', 'old', 'mine'])
      expect([id, await outputOf(id)]).toEqual([id, 'NOT_FOUND'])
    expect(resultsOf(await temp.search('in:local'))).toEqual([])
  })
})

describe('L1: the user space', () => {
  test.each(['KIWI_USER_SPACE', 'USER_SPACE', 'AI_USER_SPACE'])('is where %s says', async (variable) => {
    const elsewhere = join(temp.folder, 'elsewhere')
    mkdirSync(join(elsewhere, 'tools'), { recursive: true })
    writeFileSync(join(elsewhere, 'tools/found.sh'), says('elsewhere'))
    const environment = { KIWI_USER_SPACE: '', [variable]: elsewhere }
    const other = await openTempKiwi({ environment })
    try {
      expect(other.config.userSpace).toBe(elsewhere)
      expect(await other.run('found')).toMatchObject({ data: { output: 'elsewhere\n' } })
    } finally {
      await other.close()
    }
  })
})
