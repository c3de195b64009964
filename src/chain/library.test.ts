import { lstatSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { TempChain } from '../../test/fixtures/temp-chain.ts'
import { openTempChain } from '../../test/fixtures/temp-chain.ts'

const CANARY = 'kiwi-canary-0123456789'
let temp: TempChain
beforeEach(async () => {
  temp = await openTempChain({ environment: { API_KEY: CANARY } })
})
afterEach(() => temp.close())

const python = (text: string, more: object = {}): void =>
  temp.tool('user', { tool_type: 'script', executor: 'python_runtime', ...more }, { 'main.py': text })
const output = async (): Promise<unknown> => (await temp.run('user')).data['output']

describe('T9: what the tools of a space share', () => {
  test('can be imported as lib.name and by its name, from a read-only copy', async () => {
    temp.write('tools/lib/words.py', 'WORD = "shared"')
    python('import lib.words, words; print(words.WORD, lib.words.WORD, words.__file__)')
    const [first, second, file] = String(await output())
      .trim()
      .split(' ')
    expect([first, second]).toEqual(['shared', 'shared'])
    expect(file?.startsWith(join(temp.cache, 'work'))).toBe(true)
    expect(lstatSync(file ?? '').mode & 0o222).toBe(0)
    expect(readFileSync(file ?? '', 'utf8')).toBe('WORD = "shared"')
  })

  test('a change of it is seen by the next run', async () => {
    temp.write('tools/lib/words.py', 'WORD = "one"')
    python('import words; print(words.WORD)')
    expect(await output()).toBe('one\n')
    temp.write('tools/lib/words.py', 'WORD = "another"')
    expect(await output()).toBe('another\n')
  })

  test('scripts/lib counts too, and tools/lib before it', async () => {
    temp.write('tools/lib/words.py', 'WORD = "new"')
    temp.write('scripts/lib/words.py', 'WORD = "old"')
    temp.write('scripts/lib/more.py', 'MORE = "more"')
    python('import words, more; print(words.WORD, more.MORE)')
    expect(await output()).toBe('new more\n')
  })

  test("a tool's own lib comes first", async () => {
    temp.write('tools/lib/words.py', 'WORD = "shared"')
    python('import lib.words; print(lib.words.WORD)')
    temp.write('tools/user/lib/words.py', 'WORD = "own"')
    temp.lookup.freshen(true)
    expect(await output()).toBe('own\n')
  })

  test('require finds it on Node.js', async () => {
    temp.write('tools/lib/words.js', 'module.exports = "shared"')
    temp.tool(
      'user',
      { tool_type: 'script', executor: 'node_runtime' },
      { 'main.cjs': 'console.log(require("words"), require("lib/words"))' },
    )
    expect(await output()).toBe('shared shared\n')
  })

  test('a link out of the project is not followed', async () => {
    const outside = join(temp.folder, 'outside')
    mkdirSync(outside)
    writeFileSync(join(outside, 'words.py'), 'WORD = "outside"')
    mkdirSync(join(temp.project, '.ai/tools'), { recursive: true })
    symlinkSync(outside, join(temp.project, '.ai/tools/lib'))
    python('import words', { config: { requires: [] } })
    await expect(temp.run('user')).rejects.toMatchObject({ code: 'TOOL_FAILED' })
  })

  test('ENV-06: a grant covers it: when it changes, the grant is void', async () => {
    temp.write('tools/lib/words.py', 'WORD = "one"')
    python('import os; print(len(os.environ["KEY"]))', {
      secrets: ['API_KEY'],
      config: { env: { KEY: '${API_KEY}' } },
    })
    const { items } = await temp.plan('user')
    const hash = await temp.chain.digest(items, join(temp.project, '.ai'))
    temp.grants.push({ tool: 'user', hash, names: ['API_KEY'] })
    expect(await output()).toBe(CANARY.length)
    temp.write('tools/lib/words.py', 'import os; WORD = os.environ["KEY"]')
    await expect(temp.run('user')).rejects.toMatchObject({ code: 'SECRET_NOT_GRANTED' })
  })
})

describe('T9: modules beside a script by itself', () => {
  test('can be imported, directly and through each other, packages too, and an edit is seen', async () => {
    temp.write('tools/sib/words.py', 'import deeper\nWORD = deeper.WORD')
    temp.write('tools/sib/deeper.py', 'WORD = "one"')
    temp.write('tools/sib/parts/__init__.py', 'PART = "part"')
    temp.write('tools/sib/json.py', 'raise SystemExit("not the standard one")')
    temp.write(
      'tools/sib/alone.py',
      '"""Says."""\nimport json, words, parts\nprint(words.WORD, parts.PART)\n',
    )
    const run = async (): Promise<unknown> => (await temp.run('alone')).data['output']
    expect(await run()).toBe('one part\n')
    temp.write('tools/sib/deeper.py', 'WORD = "another"')
    expect(await run()).toBe('another part\n')
  })

  test('come before the shared library, and are nothing to a tool with a folder of its own', async () => {
    temp.write('tools/lib/words.py', 'WORD = "shared"')
    temp.write('tools/words.py', 'WORD = "beside"')
    temp.write('tools/alone.py', '"""Says."""\nimport words\nprint(words.WORD)\n')
    expect((await temp.run('alone')).data['output']).toBe('beside\n')
    python('import words; print(words.WORD)')
    expect(await output()).toBe('shared\n')
  })
})
