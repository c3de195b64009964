import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { SurfaceMethod } from '../../src/meta/surfaces/surface.ts'
import type { Reply } from '../../src/shared/reply.ts'
import { field, listField, textField } from '../fixtures/field.ts'
import type { TempImport } from '../fixtures/temp-import.ts'
import { lineAt, openTempImport } from '../fixtures/temp-import.ts'

let at: TempImport
beforeAll(async () => {
  at = await openTempImport()
})
afterAll(() => at.close())

const SAMPLES = join(import.meta.dirname, '../fixtures')
const sample = (path: string): string => readFileSync(join(SAMPLES, path), 'utf8')
const begin = (item_id: string, parameters: object = {}): Promise<Reply> =>
  at.temp.call('execute', { item_type: 'directive', action: 'run', item_id, parameters })

test('X11, C15: an old directive and a skill are imported and run; one that needs repair is found and refused', async () => {
  at.put('.ai/directives/workflows/create_pr.md', sample('seeds/directives/create_pr.md'))
  at.put('.ai/directives/pdf-forms/SKILL.md', sample('directives/pdf-forms/SKILL.md'))
  at.put('.ai/directives/pdf-forms/scripts/fill.py', sample('directives/pdf-forms/scripts/fill.py'))
  at.put('.ai/directives/hello.md', sample('directives/container/usual.md').replaceAll('usual', 'hello'))
  at.put('.ai/directives/bare_signs.md', sample('directives/container/bare_signs.md'))
  const batch = await at.run()
  expect(batch.totals).toMatchObject({ imported: 3, needs_repair: 1 })
  expect(lineAt(batch, 'directives/pdf-forms').dialect).toBe('skill')
  expect(await begin('hello')).toMatchObject({
    status: 'ready',
    data: { directive: { name: 'hello', process: [{ name: 'one', action: 'Do it' }] } },
  })
  expect(await begin('pdf-forms')).toMatchObject({ status: 'ready', data: { permissions: { granted: [] } } })
  expect((await begin('create_pr')).error).toMatchObject({
    code: 'MISSING_INPUTS',
    details: { missing: ['branch', 'title'] },
  })
  expect((await begin('bare_signs')).error).toMatchObject({
    code: 'PARSE_ERROR',
    details: { line: 5, column: 31 },
  })
})

test('X11: a skill that is imported, taken out as a client reads it, and imported again is unchanged', async () => {
  at.clear()
  const skill =
    '---\r\nname: pdf-kit\r\ndescription: Works with PDFs – ünïcode\r\nallowed-tools: Read\r\n---\r\nRead a.bin.\r\n'
  at.put('first/pdf-kit/SKILL.md', skill)
  at.put('first/pdf-kit/assets/a.bin', Buffer.from([0xff, 0xfe, 0, 1, 2]))
  expect((await at.run('first/pdf-kit')).totals).toMatchObject({ imported: 1 })
  const ask = async (method: SurfaceMethod, uri: string): Promise<unknown> => {
    const client = { principal: 'tester', session: 's', kind: 'agent' } as const
    const defaultProject = (): Promise<string> => Promise.resolve(at.temp.project)
    return (await at.temp.kiwi.show({ method, params: { uri } }, { ...client, defaultProject })).data
  }
  const root = 'skill://directive/pdf-kit/'
  const resources = listField(await ask('skills/get', `${root}SKILL.md`), 'skill', 'resources')
  expect(resources).toHaveLength(2)
  for (const resource of resources) {
    const uri = textField(resource, 'uri')
    const content = field(await ask('resources/read', uri), 'contents', 0)
    const text = field(content, 'text')
    const bytes =
      typeof text === 'string' ? Buffer.from(text) : Buffer.from(textField(content, 'blob'), 'base64')
    at.put(`second/pdf-kit/${uri.slice(root.length)}`, bytes)
  }
  const again = await at.run('second/pdf-kit')
  expect(again.totals).toMatchObject({ imported: 0, updated: 0, conflict: 0, unchanged: 1 })
})

test('X11, C15: a skill is imported by its SKILL.md, and known by its name with _ as well', async () => {
  at.put('skills/csv-tables/SKILL.md', '---\nname: csv-tables\ndescription: Reads tables\n---\nGo.\n')
  at.put('skills/csv-tables/scripts/read.py', 'print(1)\n')
  const batch = await at.run('skills/csv-tables/SKILL.md')
  expect(lineAt(batch, 'directives/csv-tables')).toMatchObject({ state: 'imported', dialect: 'skill' })
  for (const id of ['csv-tables', 'csv_tables'])
    expect(await begin(id)).toMatchObject({
      status: 'ready',
      data: { directive: { name: 'csv-tables', files: { paths: ['scripts/read.py'] } } },
    })
  at.temp.write('directives/no-skill.md', '---\ndescription: None\n---\nGo.\n')
  expect((await begin('no_skill')).error?.code).toBe('NOT_FOUND')
})
