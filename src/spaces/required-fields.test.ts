import { describe, expect, test } from 'vitest'
import { sampleItem } from '../../test/fixtures/sample-item.ts'
import type { JsonObject } from '../shared/json.ts'
import { missingFields } from './required-fields.ts'
import { readScript } from './source/script.ts'

const names = (raw: JsonObject): readonly string[] => missingFields(sampleItem(raw)).map(({ name }) => name)
const namesOf = async (fileName: string, text: string): Promise<readonly string[]> =>
  names((await readScript({ stem: 'a', fileName, path: '/p', text })).raw)

describe('L3, R47: what must be declared', () => {
  const WHOLE: JsonObject = {
    tool_id: 'a',
    tool_type: 'script',
    executor: 'python_runtime',
    version: '1.0.0',
    description: 'd',
  }
  test('a manifest that says everything lacks nothing', () => {
    expect(names(WHOLE)).toEqual([])
    expect(names({ ...WHOLE, executor: null, executor_id: 'bash_runtime' })).toEqual([])
  })

  test.each(['executor', 'version', 'description'])('a manifest without %s lacks just that', (name) => {
    expect(names(Object.fromEntries(Object.entries(WHOLE).filter(([key]) => key !== name)))).toEqual([name])
  })

  test('an empty description is none', () => {
    expect(names({ ...WHOLE, description: ' ' })).toEqual(['description'])
  })

  test('a type that has no executor, or can only have one, need not name it', () => {
    for (const raw of [{ tool_type: 'knowledge' }, { tool_type: 'api' }, { tool_type: 'python' }]) {
      expect(names({ tool_id: 'a', version: '1.0.0', description: 'd', ...raw })).toEqual([])
    }
  })

  const PYTHON = [
    '"""Doc."""',
    '__version__ = "1.0.0"',
    '__tool_type__ = "python"',
    '__executor_id__ = "python_runtime"',
  ]
  test.each([
    ['description', 0],
    ['version', 1],
    ['tool_type', 2],
    ['executor', 3],
  ])('a Python file without %s lacks just that', async (name, at) => {
    expect(await namesOf('a.py', PYTHON.join('\n'))).toEqual([])
    expect(await namesOf('a.py', PYTHON.filter((_, index) => index !== at).join('\n'))).toEqual([name])
  })

  test('a bare script is told all of it at once', async () => {
    expect(await namesOf('a.py', 'print(1)')).toEqual(['description', 'version', 'tool_type', 'executor'])
    expect(await namesOf('a.sh', 'echo 1')).toEqual(['description', 'version'])
  })
})
