import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { BatchShape } from '../../src/spaces/import/batch.ts'
import type { TempImport } from '../fixtures/temp-import.ts'
import { lineAt, openTempImport, statesOf, treeOf } from '../fixtures/temp-import.ts'
import { resultsOf } from '../temp-kiwi.ts'

let at: TempImport
let user: string
beforeAll(async () => {
  at = await openTempImport()
  user = at.temp.config.userSpace
})
afterEach(() => at.clear())
afterAll(() => at.close())

const SCRIPT = '#!/bin/bash\n# version: 1.0.0\n# says hello\necho hello\n'
const KNOWLEDGE = '---\nid: rest\ntitle: REST\nversion: 1.0.0\n---\nText\n'
const DIRECTIVE =
  '# Deploy\n\n```xml\n<directive name="deploy" version="1.0.0"><metadata><description>Deploys</description></metadata></directive>\n```\n'

function putAll(): void {
  at.put('.ai/tools/web/hello.sh', SCRIPT)
  at.put('.ai/tools/folder_tool/tool.yaml', 'tool_type: bash\nversion: 1.0.0\ndescription: d\n')
  at.put('.ai/tools/folder_tool/main.sh', 'echo folder')
  at.put('.ai/tools/lib/shared.py', 'X = 1\n')
  at.put('.ai/directives/ops/deploy.md', DIRECTIVE)
  at.put('.ai/knowledge/api/rest.md', KNOWLEDGE)
}

describe('C15: an import', () => {
  test('takes over every kind of item, byte for byte, and each is found and run at once', async () => {
    putAll()
    chmodSync(join(at.source, '.ai/tools/web/hello.sh'), 0o755)
    const before = treeOf(at.source)
    const batch = await at.run()
    expect(statesOf(batch)).toEqual({
      'tools/web/hello.sh': 'imported',
      'tools/folder_tool': 'imported',
      'tools/lib/shared.py': 'imported',
      'directives/ops/deploy.md': 'imported',
      'knowledge/api/rest.md': 'imported',
    })
    expect(batch.totals).toMatchObject({ imported: 5, skipped: 0 })
    expect(treeOf(at.source)).toEqual(before)
    expect(treeOf(user)).toEqual(treeOf(join(at.source, '.ai')))
    expect(await at.temp.run('hello')).toMatchObject({ data: { output: 'hello\n' } })
    expect(await at.temp.run('folder_tool')).toMatchObject({ data: { output: 'folder\n' } })
    const found = resultsOf(await at.temp.search('rest in:user'))
    expect(found).toMatchObject([{ id: 'rest', item_type: 'knowledge', source: 'user' }])
  })

  test('of the same again is unchanged, even after the items were signed', async () => {
    putAll()
    await at.run()
    const line = `# kiwi-mcp:validated:2026-01-28T12:34:56Z:${'0'.repeat(64)}\n`
    writeFileSync(join(user, 'tools/web/hello.sh'), SCRIPT.replace('\n', `\n${line}`))
    const before = treeOf(user, /^kiwi\./)
    const again = await at.run()
    expect(again.totals).toEqual({
      imported: 0,
      updated: 0,
      unchanged: 5,
      conflict: 0,
      needs_repair: 0,
      skipped: 0,
    })
    // Not even a record: there is nothing to take back.
    expect(treeOf(user, /^kiwi\./)).toEqual(before)
  })

  test('to the project goes there', async () => {
    putAll()
    await at.run('', { to: 'project' })
    expect(treeOf(join(at.temp.project, '.ai'))).toEqual(treeOf(join(at.source, '.ai')))
    expect(existsSync(join(user, 'tools'))).toBe(false)
  })

  test('as a dry run says the same and writes nothing', async () => {
    putAll()
    const before = treeOf(user, /^kiwi\./)
    const planned = await at.run('', { isDryRun: true })
    expect(treeOf(user, /^kiwi\./)).toEqual(before)
    expect(statesOf(await at.run())).toEqual(statesOf(planned))
  })

  test('a bad file in the middle is one line, and all others are imported', async () => {
    putAll()
    at.put('.ai/tools/web/broken.yaml', 'tool_type: [')
    at.put('.ai/tools/web/bytes.py', Buffer.from([0xff, 0xfe, 0x00]))
    at.put('.ai/directives/large.md', `# x\n${'y'.repeat(300 * 1024)}`)
    at.put('.ai/tools/zz.yaml', 'tool_type: primitive\nversion: 1.0.0\ndescription: d\n')
    const batch = await at.run()
    expect(batch.totals).toMatchObject({ imported: 5, needs_repair: 4 })
    for (const to of [
      'tools/web/broken.yaml',
      'tools/web/bytes.py',
      'directives/large.md',
      'tools/zz.yaml',
    ]) {
      expect(lineAt(batch, to)).toMatchObject({ state: 'needs_repair', reason: expect.stringMatching(/./) })
      expect(readFileSync(join(user, to))).toEqual(readFileSync(join(at.source, '.ai', to)))
    }
    // Searchable, and not to be run.
    expect(resultsOf(await at.temp.search('broken in:user'))).toMatchObject([{ id: 'broken' }])
    expect((await at.temp.run('broken')).error).not.toBe(null)
    expect((await at.run()).totals).toMatchObject({ unchanged: 9 })
  })

  test('that is cancelled writes no more, and what it wrote can be taken back', async () => {
    putAll()
    const client = {
      principal: 'tester',
      session: 's',
      kind: 'person',
      defaultProject: () => Promise.resolve(at.temp.project),
    } as const
    const wish = { kind: 'import', path: at.source, to: 'user' } as const
    const asked = { wish: () => wish, operation: 'import', subject: at.source }
    const { data } = await at.temp.kiwi.act(asked, client, AbortSignal.abort())
    const batch = BatchShape.parse(data)
    expect(batch.items.map(({ state, reason }) => [state, reason])).toEqual(
      Array.from({ length: 5 }, () => ['skipped', 'the import was cancelled']),
    )
    expect(treeOf(user)).toEqual({})
    expect(await at.undo(batch.batch)).toMatchObject({ status: 'success' })
    expect((await at.run()).totals).toMatchObject({ imported: 5 })
  })

  test('goes through the gate: on record with its batch and totals, and not for an agent', async () => {
    putAll()
    expect((await at.reply('', { kind: 'agent' })).error).toMatchObject({
      code: 'PERMISSION_DENIED',
      hint: expect.stringContaining('kiwi import'),
    })
    expect(existsSync(join(user, 'tools'))).toBe(false)
    const { batch } = await at.run()
    const records = await at.temp.kiwi.store.records({ limit: 10, call_id: batch })
    expect(records.map(({ kind, operation, status }) => [kind, operation, status])).toEqual([
      ['outcome', 'import', 'success'],
      ['decision', 'import', 'allow'],
    ])
    expect(records[1]?.body).toMatchObject({ parameters: { batch, totals: { imported: 5 } } })
  })
})

describe('C15: what is there already', () => {
  test('a changed source updates what the import wrote, and undo brings the old back', async () => {
    putAll()
    await at.run()
    const before = treeOf(user)
    at.put('.ai/tools/web/hello.sh', SCRIPT.replace('echo hello', 'echo new'))
    at.put('.ai/tools/folder_tool/more.sh', 'echo more')
    const second = await at.run()
    expect(statesOf(second)).toMatchObject({
      'tools/web/hello.sh': 'updated',
      'tools/folder_tool': 'updated',
    })
    expect(await at.temp.run('hello')).toMatchObject({ data: { output: 'new\n' } })
    expect(await at.undo(second.batch)).toMatchObject({ data: { totals: { restored: 2, removed: 0 } } })
    expect(treeOf(user)).toEqual(before)
    expect(await at.temp.run('hello')).toMatchObject({ data: { output: 'hello\n' } })
  })

  test('something else in its place stays, and the import goes beside it', async () => {
    putAll()
    mkdirSync(join(user, 'tools/web'), { recursive: true })
    writeFileSync(join(user, 'tools/web/hello.sh'), '#!/bin/bash\necho mine\n')
    const batch = await at.run()
    expect(lineAt(batch, 'tools/web/hello_2.sh')).toMatchObject({
      state: 'conflict',
      reason: '"tools/web/hello.sh" is taken by something else',
    })
    expect(await at.temp.run('hello')).toMatchObject({ data: { output: 'mine\n' } })
    expect(await at.temp.run('web/hello_2')).toMatchObject({ data: { output: 'hello\n' } })
    expect((await at.run()).totals).toMatchObject({ unchanged: 5, conflict: 0 })
    at.put('.ai/tools/web/hello.sh', `${SCRIPT}echo more\n`)
    expect(statesOf(await at.run())).toMatchObject({ 'tools/web/hello_2.sh': 'updated' })
  })

  test('an item the user changed since is not overwritten', async () => {
    putAll()
    await at.run()
    appendFileSync(join(user, 'tools/web/hello.sh'), 'echo mine\n')
    at.put('.ai/tools/web/hello.sh', `${SCRIPT}echo theirs\n`)
    expect(statesOf(await at.run())).toMatchObject({ 'tools/web/hello_2.sh': 'conflict' })
    expect(readFileSync(join(user, 'tools/web/hello.sh'), 'utf8')).toBe(`${SCRIPT}echo mine\n`)
  })

  test('the same id in two folders: both are kept, each under its path', async () => {
    at.put('.ai/tools/a/twin.sh', SCRIPT)
    at.put('.ai/tools/b/twin.sh', `${SCRIPT}echo b\n`)
    const batch = await at.run()
    expect(statesOf(batch)).toEqual({ 'tools/a/twin.sh': 'imported', 'tools/b/twin.sh': 'conflict' })
    expect(lineAt(batch, 'tools/b/twin.sh').warnings).toContain(
      '"twin" is also at "tools/a/twin.sh": call each by its category and name',
    )
    expect((await at.temp.run('twin')).error?.code).toBe('AMBIGUOUS_ID')
    expect(await at.temp.run('b/twin')).toMatchObject({ status: 'success' })
    expect((await at.run()).totals).toMatchObject({ unchanged: 2 })
  })

  test('an id that the user has elsewhere is a conflict that names the place', async () => {
    mkdirSync(join(user, 'tools/own'), { recursive: true })
    writeFileSync(join(user, 'tools/own/hello.sh'), '#!/bin/bash\necho mine\n')
    putAll()
    const line = lineAt(await at.run(), 'tools/web/hello.sh')
    expect(line.state).toBe('conflict')
    expect(line.warnings.join()).toContain('tools/own/hello.sh')
  })

  test('what would lie in the folder of another item is not written there, and a folder of others is no item', async () => {
    at.put('.ai/scripts/x/two.json', '{"tool_type": "bash", "description": "d"}')
    at.put('.ai/scripts/y/one.sh', SCRIPT)
    at.put('.ai/tools/x/tool.yaml', 'tool_type: bash\ndescription: d\n')
    at.put('.ai/tools/y/tool.yaml', 'tool_type: bash\ndescription: d\n')
    const batch = await at.run()
    expect(statesOf(batch)).toEqual({
      'tools/x/two.json': 'imported',
      'tools/x_2': 'conflict',
      'tools/y': 'imported',
      'tools/y/one.sh': 'skipped',
    })
    expect((await at.run()).totals).toMatchObject({ unchanged: 3, skipped: 1 })
  })

  test('T6: an id that belongs to a shipped tool is not taken', async () => {
    at.put(
      '.ai/tools/runtimes/python_runtime.yaml',
      'tool_type: runtime\nexecutor: subprocess\nversion: 9.0.0\ndescription: d\n',
    )
    const batch = await at.run()
    expect(batch.items).toMatchObject([
      { state: 'skipped', reason: expect.stringContaining('shipped with Kiwi') },
    ])
    expect(existsSync(join(user, 'tools'))).toBe(false)
  })
})

describe('C15: undo', () => {
  test('removes exactly what was added, folders too, and can be done once', async () => {
    putAll()
    mkdirSync(join(user, 'tools/web'), { recursive: true })
    writeFileSync(join(user, 'tools/web/mine.sh'), SCRIPT)
    const before = treeOf(user)
    const { batch } = await at.run()
    expect(treeOf(user)).not.toEqual(before)
    expect(await at.undo(batch)).toMatchObject({
      status: 'success',
      data: { totals: { removed: 5, conflict: 0 } },
    })
    expect(treeOf(user)).toEqual(before)
    expect((await at.temp.run('hello')).error?.code).toBe('NOT_FOUND')
    expect((await at.undo(batch)).error?.code).toBe('CONFLICT')
    expect((await at.run()).totals).toMatchObject({ imported: 5 })
  })

  test('leaves what was changed since, and says so', async () => {
    putAll()
    const { batch } = await at.run()
    appendFileSync(join(user, 'tools/web/hello.sh'), 'echo mine\n')
    rmSync(join(user, 'knowledge/api/rest.md'))
    const { data } = await at.undo(batch)
    expect(data).toMatchObject({ totals: { removed: 3, conflict: 1, gone: 1 } })
    expect(Object.keys(treeOf(user))).toEqual(['tools', 'tools/web', 'tools/web/hello.sh'])
  })

  test('of a batch that is not there, or not ours to read, is refused', async () => {
    expect((await at.undo('01M7H3XWYCV9T69NBVGHGQN03A')).error?.code).toBe('NOT_FOUND')
    expect((await at.undo('../../kiwi')).error?.code).toBe('NOT_FOUND')
    mkdirSync(join(user, 'imports'))
    writeFileSync(join(user, 'imports/01M7H3XWYCV9T69NBVGHGQN03A.json'), '{"batch": 1}')
    expect((await at.undo('01M7H3XWYCV9T69NBVGHGQN03A')).error?.code).toBe('PARSE_ERROR')
    putAll()
    // A record that leads elsewhere is no record.
    const { batch } = await at.run()
    const file = join(user, 'imports', `${batch}.json`)
    const record = readFileSync(file, 'utf8')
    const victim = at.put('victim.sh', SCRIPT)
    for (const [was, is] of [
      ['"to": "tools/web/hello.sh"', '"to": "tools/../../source/victim.sh"'],
      [`"root": ${JSON.stringify(user)}`, `"root": ${JSON.stringify(at.source)}`],
    ] as const) {
      writeFileSync(file, record.replace(was, is))
      expect(readFileSync(file, 'utf8')).toContain(is)
      expect((await at.undo(batch)).error?.code).toBe('PARSE_ERROR')
      expect(existsSync(victim)).toBe(true)
    }
    writeFileSync(file, record)
    expect((await at.undo(batch)).data).toMatchObject({ totals: { removed: 5 } })
    // One broken record does not stand in the way of the next import.
    expect((await at.run()).totals.imported).toBe(5)
  })
})

test('C15: for any tree of files: again is unchanged, and undo leaves everything as it was', async () => {
  const name = fc.constantFrom('a', 'b', 'c_d', 'lib', 'x')
  const file = fc.record({
    folders: fc.array(name, { maxLength: 2 }),
    type: fc.constantFrom('tools', 'scripts', 'directives', 'knowledge'),
    name: fc.constantFrom('one', 'two', 'One', 'tool', 'SKILL'),
    ending: fc.constantFrom('sh', 'py', 'yaml', 'md', 'json', 'txt'),
    text: fc.constantFrom(
      '',
      'x: 1',
      'tool_type: bash\ndescription: d',
      '# T',
      '---\nid: other\n---\nt',
      '#!/bin/sh\n',
      '[',
      '"""d"""\n',
    ),
  })
  await fc.assert(
    fc.asyncProperty(
      fc.array(file, { maxLength: 8 }),
      fc.array(file, { maxLength: 3 }),
      async (theirs, mine) => {
        at.clear()
        mkdirSync(join(at.source, '.ai/tools'), { recursive: true })
        for (const each of theirs)
          at.put(join('.ai', each.type, ...each.folders, `${each.name}.${each.ending}`), each.text)
        for (const each of mine) {
          const folder = join(user, each.type, ...each.folders)
          mkdirSync(folder, { recursive: true })
          writeFileSync(join(folder, `${each.name}.${each.ending}`), each.text)
        }
        const before = treeOf(user)
        const first = await at.run()
        const states = Object.values(statesOf(await at.run()))
        expect(states.filter((state) => state !== 'unchanged' && state !== 'skipped')).toEqual([])
        if (existsSync(join(user, 'imports'))) await at.undo(first.batch)
        expect(treeOf(user)).toEqual(before)
      },
    ),
    { numRuns: 25 },
  )
})
