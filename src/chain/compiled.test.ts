import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TempChain } from '../../test/fixtures/temp-chain.ts'
import { openTempChain } from '../../test/fixtures/temp-chain.ts'
import type { JsonObject } from '../shared/json.ts'

let temp: TempChain
let compiler: string
const log = (): string => join(temp.folder, 'compiled.log')
const compilations = (): number =>
  existsSync(log()) ? readFileSync(log(), 'utf8').trimEnd().split('\n').length : 0

beforeAll(async () => {
  temp = await openTempChain()
  compiler = join(temp.folder, 'make-program')
  writeFileSync(
    compiler,
    `#!/bin/sh
echo "$@" >> '${log()}'
grep -q WRONG "$1" && { echo "error: WRONG is no word" >&2; exit 1; }
{ echo '#!/bin/sh'; cat "$1"; } > "$3"
chmod +x "$3"
`,
  )
  chmodSync(compiler, 0o755)
})
afterAll(() => temp.close())

const runtime = (id: string, config: JsonObject): void =>
  temp.tool(id, { tool_type: 'runtime', executor: 'subprocess', config })
const script = (id: string, executor: string, text: string, more: JsonObject = {}): void =>
  temp.tool(id, { tool_type: 'script', executor, ...more }, { 'main.src': text })

describe('R45: compiled once, then run', () => {
  test('the Rust runtime of the seeds runs a hello world', { timeout: 120_000 }, async () => {
    runtime('rust_runtime', { compile_command: 'rustc', run_command: './{binary}' })
    temp.tool(
      'hello_rust',
      { tool_type: 'script', executor: 'rust_runtime' },
      { 'main.rs': 'fn main() { println!("Hello, world!"); }' },
    )
    expect((await temp.run('hello_rust')).data).toMatchObject({ output: 'Hello, world!\n', return_code: 0 })
  })

  test('a second run compiles nothing; other content does', async () => {
    runtime('src_runtime', { compile_command: compiler, run_command: './{binary}' })
    script('greet', 'src_runtime', 'echo "hello $KIWI_PARAM_NAME"', { parameters: [{ name: 'name' }] })
    expect((await temp.run('greet', { name: 'Ada' })).data['output']).toBe('hello Ada\n')
    expect((await temp.run('greet', { name: 'Bob' })).data['output']).toBe('hello Bob\n')
    expect(compilations()).toBe(1)
    script('greet', 'src_runtime', 'echo bye', { parameters: [{ name: 'name' }] })
    expect((await temp.run('greet')).data['output']).toBe('bye\n')
    expect(compilations()).toBe(2)
  })

  test('the compiler stands among the programs until it has done its work', async () => {
    runtime('src_runtime', { compile_command: compiler, run_command: './{binary}' })
    script('once', 'src_runtime', 'echo once')
    const environment = async (): Promise<unknown> => {
      const { effect } = await temp.draft('once')
      return effect.kind === 'subprocess' ? effect.environment : null
    }
    expect(await environment()).toMatchObject({ isCompiled: true, builder: { programs: [compiler] } })
    await temp.run('once')
    expect(await environment()).toMatchObject({ isCompiled: true, builder: null })
  })

  test('lists, places of their own, and a program that runs what was made', async () => {
    runtime('listed_runtime', {
      compile_command: [compiler, '{entrypoint}', 'to', '{environment}/out.sh'],
      run_command: ['sh', '{environment}/out.sh', 'first'],
    })
    script('listed', 'listed_runtime', 'echo "$1"')
    expect((await temp.run('listed')).data['output']).toBe('first\n')
  })

  test('what does not compile is TOOL_FAILED with what the compiler says, and is tried again', async () => {
    runtime('src_runtime', { compile_command: compiler, run_command: './{binary}' })
    script('broken', 'src_runtime', 'WRONG')
    const before = compilations()
    const failure = { code: 'TOOL_FAILED', partial: { stderr: 'error: WRONG is no word', return_code: 1 } }
    await expect(temp.run('broken')).rejects.toMatchObject(failure)
    await expect(temp.run('broken')).rejects.toMatchObject(failure)
    expect(compilations()).toBe(before + 2)
  })

  test('a parameter does not choose the program, and without a file there is nothing to compile', async () => {
    runtime('open_runtime', { compile_command: compiler, run_command: '{name}' })
    script('open', 'open_runtime', '', { parameters: [{ name: 'name' }] })
    await expect(temp.plan('open')).rejects.toMatchObject({ code: 'INVALID_CONFIG' })
    runtime('src_runtime', { compile_command: compiler })
    temp.tool('empty', { tool_type: 'script', executor: 'src_runtime' })
    await expect(temp.plan('empty')).rejects.toMatchObject({ code: 'INVALID_CONFIG' })
    runtime('lost_runtime', { compile_command: 'kiwi-no-such-compiler' })
    script('lost', 'lost_runtime', '')
    await expect(temp.draft('lost')).rejects.toMatchObject({
      code: 'COMMAND_NOT_FOUND',
      message: expect.stringContaining('kiwi-no-such-compiler'),
    })
  })

  test('a tool whose parameter is called environment keeps it', async () => {
    temp.tool(
      'deploy',
      {
        tool_type: 'script',
        executor: 'python_runtime',
        config: { env: { WHERE: '{environment}' } },
        parameters: [{ name: 'environment' }],
      },
      { 'main.py': 'import os; print(os.environ["WHERE"])' },
    )
    expect((await temp.run('deploy', { environment: 'prod' })).data['output']).toBe('prod\n')
  })
})

describe('C3: what a runtime locks stays locked where something is compiled', () => {
  test.each(['compile_command', 'run_command'])('"%s" is for a runtime to say', async (key) => {
    script('bold', 'docker_runtime', '', { config: { image: 'alpine', [key]: 'true' } })
    await expect(temp.plan('bold')).rejects.toMatchObject({
      code: 'INVALID_CONFIG',
      message: `Cannot run "bold": "${key}" is for its runtime to say`,
    })
  })

  test('a runtime may lock its own', async () => {
    temp.tool('src_runtime', {
      tool_type: 'runtime',
      executor: 'subprocess',
      locked: ['command', 'args', 'compile_command', 'run_command'],
      config: { compile_command: compiler, run_command: './{binary}' },
    })
    script('held', 'src_runtime', 'echo held')
    expect((await temp.run('held')).data['output']).toBe('held\n')
  })
})

test('C10: nothing of it lies anywhere but in the cache', () => {
  expect(readdirSync(temp.cache).toSorted()).toEqual(['environments', 'work'])
})
