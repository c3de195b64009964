import { realpathSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { JsonObject } from '../src/shared/json.ts'
import type { Reply } from '../src/shared/reply.ts'
import type { TempKiwi } from './temp-kiwi.ts'
import { openTempKiwi } from './temp-kiwi.ts'

let temp: TempKiwi
beforeAll(async () => {
  temp = await openTempKiwi()
})
afterAll(() => temp.close())

const open = { input_schema: { type: 'object', additionalProperties: true } }
let count = 0

/** Makes a tool of one file and runs it. */
async function run(
  type: 'python' | 'node' | 'bash',
  text: string,
  parameters: JsonObject = {},
  more: JsonObject = {},
): Promise<Reply> {
  const id = `tool_${count++}`
  const file = { python: 'main.py', node: 'main.mjs', bash: 'main.sh' }[type]
  const made = await temp.create(
    id,
    { tool_type: type, description: 'x', ...open, ...more },
    { [file]: text },
  )
  expect(made.error).toBeNull()
  return temp.run(id, parameters)
}

describe('R20: a function of a Python script is called', () => {
  const call = (text: string, parameters?: JsonObject, config: JsonObject = {}): Promise<Reply> =>
    run('python', text, parameters, { config: { args_style: 'call', ...config } })

  test.each([
    ['main', 'def main(email, limit=3): return {"email": email, "limit": limit}'],
    ['run', 'def run(**given): return {**given, "limit": 3}'],
    [
      'a coroutine',
      'import asyncio\nasync def run(email):\n  await asyncio.sleep(0)\n  return {"email": email, "limit": 3}',
    ],
    ['execute', 'def execute(params, project_path): return {**params, "limit": 3} if project_path else None'],
    [
      'an object that can be called',
      'class C:\n  def __call__(self, email): return {"email": email, "limit": 3}\nmain = C()',
    ],
  ])('%s', async (_what, text) => {
    expect(await call(text, { email: 'a@b.c' })).toMatchObject({
      status: 'success',
      data: { output: { email: 'a@b.c', limit: 3 } },
    })
  })

  test('one that it names, by its own arguments, with the path of the project when it asks for it', async () => {
    const text = 'def main(): raise SystemExit(9)\ndef work(a, project_path): return [a, project_path]'
    const { data } = await call(text, { a: { b: [1, true, null] } }, { entry_function: 'work' })
    expect(data).toMatchObject({ output: [{ b: [1, true, null] }, realpathSync(temp.project)] })
  })

  test('what it prints is kept beside what it returns; without a result what it prints is the output', async () => {
    const { data } = await call('def main():\n  print("[1, 2]")\n  print("said")\n  return {"a": "\\x1e"}')
    expect(data).toMatchObject({ output: { a: '\u001E' }, stdout: '[1, 2]\nsaid\n' })
    expect((await call('def main(): print("[1, 2]")')).data).toMatchObject({ output: [1, 2] })
    expect((await call('def main(): return 0')).data).toMatchObject({ output: 0 })
    expect(
      (await call('import datetime\ndef main(): return {"day": datetime.date(2026, 1, 2)}')).data,
    ).toMatchObject({
      output: { day: '2026-01-02' },
    })
  })

  test('it can still read its parameters by itself, and files beside it', async () => {
    const id = 'with_library'
    const files = {
      'main.py':
        'import json, sys\nfrom lib.part import twice\ndef main(): return twice(json.load(sys.stdin)["n"])',
      'lib/part.py': 'def twice(n): return 2 * n',
    }
    const made = await temp.create(
      id,
      { tool_type: 'python', description: 'x', ...open, config: { args_style: 'call' } },
      files,
    )
    expect(made.error).toBeNull()
    expect((await temp.run(id, { n: 21 })).data).toMatchObject({ output: 42 })
  })

  test('what it raises is the failure of the tool, with where it was', async () => {
    const reply = await call('def main(): raise ValueError("no such place")')
    expect(reply).toMatchObject({
      error: { code: 'TOOL_FAILED', message: expect.stringContaining('ValueError: no such place') },
      data: { return_code: 1, stderr: expect.stringMatching(/main\.py", line 1/) },
    })
    expect((await call('x = 1')).error?.message).toMatch(/has no function main, run or execute$/)
  })

  test('S9: what is judged and shown is the program of the runtime, in its own folder', async () => {
    await temp.create(
      'shown',
      { tool_type: 'python', description: 'x', config: { args_style: 'call' } },
      { 'main.py': 'def main(): pass' },
    )
    const reply = await temp.call('execute', {
      item_type: 'tool',
      action: 'run',
      item_id: 'shown',
      dry_run: true,
    })
    expect(reply.data).toMatchObject({
      would_run: {
        args: [
          expect.stringMatching(/\/work\/[0-9a-f]{64}\/call\.py$/),
          expect.stringMatching(/main\.py$/),
          '',
        ],
      },
    })
  })

  test.each([
    [{ args_by_style: { call: ['-c', 'print(1)'] } }, 'args_by_style'],
    [{ input_data: 'x' }, 'input_data'],
    [{ entry_function: '--help' }, 'entry_function'],
  ])('%j is refused', async (config, key) => {
    const manifest = { tool_type: 'python', description: 'x', config: { args_style: 'call', ...config } }
    const made = await temp.create('refused', manifest, { 'main.py': 'def main(): pass' })
    const { error } = made.error === null ? await temp.run('refused') : made
    expect(error).toMatchObject({ code: 'INVALID_CONFIG', message: expect.stringContaining(key) })
  })

  test('a runtime without words for it is refused by name', async () => {
    const manifest = { tool_type: 'bash', description: 'x', config: { args_style: 'call' } }
    expect((await temp.create('no_call', manifest, { 'main.sh': 'true' })).error).toMatchObject({
      code: 'INVALID_CONFIG',
      message: expect.stringContaining('args_by_style.call'),
    })
  })
})

describe('R20: a function of a JavaScript file is called', () => {
  test.each([
    ['default', 'export default ({ a }) => ({ a, b: 1 })'],
    ['main', 'export async function main({ a }) { return { a, b: 1 } }'],
    ['run', 'export const run = ({ a }) => Promise.resolve({ a, b: 1 })'],
  ])('%s', async (_what, text) => {
    const reply = await run(
      'node',
      `console.log('hi')\n${text}`,
      { a: 'x' },
      { config: { args_style: 'call' } },
    )
    expect(reply.data).toMatchObject({ output: { a: 'x', b: 1 }, stdout: 'hi\n' })
  })

  test('and of a CommonJS one; null is a result, undefined is none', async () => {
    const manifest = { tool_type: 'node', description: 'x', ...open, config: { args_style: 'call' } }
    await temp.create('common', manifest, { 'main.cjs': 'exports.main = ({ a }) => a' })
    expect((await temp.run('common', { a: null })).data).toMatchObject({ output: null })
    expect((await temp.run('common')).data).toMatchObject({ output: '' })
  })

  test('what it throws is the failure of the tool', async () => {
    const config = { args_style: 'call' }
    expect(
      (await run('node', 'export default () => { throw new TypeError("bad") }', {}, { config })).error,
    ).toMatchObject({
      code: 'TOOL_FAILED',
    })
    expect((await run('node', 'export const x = 1', {}, { config })).error?.message).toMatch(
      /exports no function/,
    )
  })
})

test('R20: a script with argparse gets switches, repeated options, its own spelling and its path', async () => {
  const text = `import argparse, json
p = argparse.ArgumentParser()
p.add_argument('file')
p.add_argument('--dry-run', action='store_true')
p.add_argument('--quiet', action='store_true')
p.add_argument('--tag', action='append')
p.add_argument('-n', type=int)
p.add_argument('--project-path', required=True)
print(json.dumps(vars(p.parse_args())))`
  const flag_names = { file: '', dry_run: '--dry-run', n: '-n', project_path: '--project-path' }
  const names = ['file', 'dry_run', 'quiet', 'tag', 'n']
  const { data } = await run(
    'python',
    text,
    { file: 'a; b', dry_run: true, quiet: false, tag: ['x', '--y'], n: -3 },
    {
      input_schema: { type: 'object', properties: Object.fromEntries(names.map((name) => [name, {}])) },
      config: { args_style: 'flags', flag_names },
    },
  )
  expect(data).toMatchObject({
    output: {
      file: 'a; b',
      dry_run: true,
      quiet: false,
      tag: ['x', '--y'],
      n: -3,
      project_path: realpathSync(temp.project),
    },
  })
})

describe.each([
  [
    'python',
    'import json,os,sys\nprint(json.dumps({"in": json.load(sys.stdin), "env": os.environ["KIWI_PARAM_A"]}))',
  ],
  [
    'node',
    'console.log(JSON.stringify({ in: JSON.parse((await import("node:fs")).readFileSync(0)), env: process.env.KIWI_PARAM_A }))',
  ],
  ['bash', `printf '{"in": %s, "env": "%s"}' "$(cat)" "$KIWI_PARAM_A"`],
] as const)('P4, R21, T8: a %s script', (type, text) => {
  const outputs = { type: 'object', required: ['in'], properties: { env: { type: 'integer' } } }

  test('gets its parameters both ways, and its JSON is parsed and measured by what it promised', async () => {
    const reply = await run(
      type,
      text,
      { a: 7 },
      { outputs: { ...outputs, properties: { env: { type: 'string' } } } },
    )
    expect(reply).toMatchObject({
      data: { output: { in: { a: 7 }, env: '7' }, stdout: expect.stringContaining('"in"') },
    })
    expect(reply.metadata.warnings ?? []).toEqual([])
    expect(await run(type, text, { a: 7 }, { outputs })).toMatchObject({
      status: 'success',
      metadata: { warnings: expect.arrayContaining([expect.stringContaining('"env" must be integer')]) },
    })
  })
})
