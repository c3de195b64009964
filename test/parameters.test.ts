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

test('R20: a script with argparse gets switches, repeated options, its own spelling and the path of the project', async () => {
  const text = `import argparse, json
p = argparse.ArgumentParser()
p.add_argument('file')
p.add_argument('--dry-run', action='store_true')
p.add_argument('--no-color', dest='color', action='store_false')
p.add_argument('--quiet', action='store_true')
p.add_argument('--tag', action='append')
p.add_argument('--names', nargs='+')
p.add_argument('-n', type=int)
p.add_argument('--project-path', required=True)
print(json.dumps(vars(p.parse_args())))`
  temp.write('tools/parses.py', text)
  const given = { file: 'a; b', dry_run: true, quiet: false, tag: ['x', '--y'], names: ['a', 'b'], n: -3 }
  const read = { ...given, color: true, project_path: realpathSync(temp.project) }
  expect((await temp.run('parses', given)).data).toMatchObject({ output: read })
  // The same as a tool of a folder, with parameters of its own.
  const names = ['file', 'dry_run', 'quiet', 'tag', 'names', 'n']
  const more = {
    input_schema: { type: 'object', properties: Object.fromEntries(names.map((name) => [name, {}])) },
  }
  expect((await run('python', text, given, more)).data).toMatchObject({ output: read })
})

describe('R20: without a setting the source of a script tells', () => {
  const input_schema = { type: 'object', properties: { b: {}, a: {} } }
  test.each([
    ['places', 'python', 'import sys\nprint(sys.argv[1:])', "['2', '1']\n"],
    ['a function', 'python', 'async def run(a, b): return [a, b]', ['1', '2']],
    [
      'a guarded function that reads its arguments',
      'python',
      'import sys\ndef run(x): return x * 2\nif __name__ == "__main__": print(run(sys.argv[1]))',
      22,
    ],
    ['nothing of the kind', 'python', 'import json, sys\nprint(json.load(sys.stdin)["a"])', 1],
    ['an exported function', 'node', 'export default ({ a, b }) => a + b', '12'],
  ] as const)('%s', async (_what, type, text, output) => {
    expect((await run(type, text, { a: '1', b: '2' }, { input_schema })).data).toMatchObject({ output })
  })

  test('what the manifest says counts, and a runtime that cannot call is not asked to', async () => {
    const text = 'def main(**given): return 1\nprint("top")'
    expect((await run('python', text, {}, { config: { args_style: 'none' } })).data).toMatchObject({
      output: 'top\n',
    })
    await temp.create('plain_python', {
      tool_type: 'runtime',
      executor: 'subprocess',
      description: 'x',
      config: { command: 'python3' },
    })
    expect((await run('python', text, {}, { executor: 'plain_python' })).data).toMatchObject({
      output: 'top\n',
    })
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
