import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Reply } from '../../src/shared/reply.ts'
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
    code: 'INVALID_PARAMETERS',
    details: { missing: ['branch', 'title'] },
  })
  expect((await begin('bare_signs')).error).toMatchObject({
    code: 'PARSE_ERROR',
    details: { line: 5, column: 31 },
  })
})
