import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Reply } from '../../src/shared/reply.ts'
import { expectRefusal } from '../fixtures/expect-refusal.ts'
import { field, textField } from '../fixtures/field.ts'
import { isAlive } from '../fixtures/probe.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { openTempKiwi } from '../temp-kiwi.ts'

let temp: TempKiwi
beforeAll(async () => {
  temp = await openTempKiwi({ environment: { OTHER: 'never-granted-value' } })
})
afterAll(() => temp.close())

const BASH = { tool_type: 'bash', description: 'a tool of the tests' }
const bash = (id: string, lines: string, config: object = {}): Promise<Reply> =>
  temp.create(id, { ...BASH, config }, { 'main.sh': lines })

const expectError = (reply: Reply, code: string, message?: string): Promise<void> =>
  expectRefusal(temp, reply, code, message)

describe('parameters', () => {
  test('5 MB are refused with the limit', async () => {
    await expectError(
      await temp.run('hello_bash', { name: 'x'.repeat(5_000_000) }),
      'MESSAGE_TOO_LARGE',
      '4194304',
    )
  })

  test('1 MB reach a script by standard input', async () => {
    await bash('counts', 'wc -c')
    await temp.create(
      'counts_all',
      { ...BASH, parameters: [{ name: 'text', type: 'string' }] },
      { 'main.sh': 'wc -c' },
    )
    expect(await temp.run('counts_all', { text: 'x'.repeat(1_000_000) })).toMatchObject({
      data: { output: 1_000_011 },
    })
  })

  test('a NUL byte is refused by name, in a parameter and in an id', async () => {
    await expectError(await temp.run('hello_bash', { name: 'a\0b' }), 'INVALID_PARAMETERS', 'NUL')
    await expectError(await temp.run('hello\0bash'), 'INVALID_PARAMETERS')
  })

  test('PAR-06: keys that reach a prototype are refused', async () => {
    await expectError(
      await temp.run('hello_bash', JSON.parse('{"__proto__": {"isAdmin": true}}')),
      'INVALID_PARAMETERS',
      '__proto__',
    )
    expect(field({}, 'isAdmin')).toBeUndefined()
  })

  test('nesting without end is refused', async () => {
    await expectError(
      await temp.run('hello_bash', { name: JSON.parse('['.repeat(1000) + ']'.repeat(1000)) }),
      'TOO_DEEP',
    )
  })

  test('CMD-01: what would mean something to a shell is one plain argument', async () => {
    await temp.create(
      'says',
      {
        ...BASH,
        tool_type: 'script',
        executor: 'bash_runtime',
        config: { args_style: 'positional' },
        parameters: [{ name: 'text' }],
      },
      { 'main.sh': 'printf %s "$1"' },
    )
    const text = `x; touch ${temp.folder}/PWNED; $(touch ${temp.folder}/PWNED) \`id\` | cat\nnext`
    expect(await temp.run('says', { text })).toMatchObject({ data: { output: text } })
    expect(existsSync(join(temp.folder, 'PWNED'))).toBe(false)
  })
})

describe('manifests and chains', () => {
  test('C4, CHN-01: a loop is refused, naming the way round', async () => {
    temp.write('tools/a.yaml', 'tool_type: runtime\nexecutor: b\nversion: 1.0.0\ndescription: x\n')
    temp.write('tools/b.yaml', 'tool_type: runtime\nexecutor: a\nversion: 1.0.0\ndescription: x\n')
    const reply = await temp.run('a')
    await expectError(reply, 'EXECUTOR_CYCLE', 'loops at "a"')
    expect(reply.error?.details['chain']).toEqual(['a', 'b', 'a'])
  })

  test('a missing executor names the tool and the executor', async () => {
    temp.write(
      'tools/orphan.yaml',
      'tool_type: script\nexecutor: cobol_runtime\nversion: 1.0.0\ndescription: x\n',
    )
    const reply = await temp.run('orphan')
    await expectError(reply, 'EXECUTOR_MISSING', '"cobol_runtime"')
    expect(reply.error?.fix).toMatchObject({ call: 'search' })
    await expectError(
      await temp.create(
        'orphan2',
        { tool_type: 'script', executor: 'cobol_runtime', description: 'x' },
        { 'main.cob': '' },
      ),
      'EXECUTOR_MISSING',
    )
    expect(existsSync(join(temp.project, '.ai/tools/orphan2'))).toBe(false)
  })

  test('broken YAML names the file, the line and the column', async () => {
    const path = temp.write(
      'tools/crooked.yaml',
      'tool_type: script\nexecutor: bash_runtime\n  version: [1.0\n',
    )
    await expectError(await temp.run('crooked'), 'PARSE_ERROR', path)
    await expectError(
      await temp.call('execute', {
        item_type: 'tool',
        action: 'create',
        item_id: 'x',
        parameters: { content: 'a: 1\na: 2' },
      }),
      'PARSE_ERROR',
      'line 2',
    )
  })

  test('CHN-03: a script cannot change the program of its runtime', async () => {
    const reply = await bash('loose', 'true', { command: '/bin/sh', args: ['-c', 'id'] })
    await expectError(reply, 'INVALID_CONFIG', '"command"')
  })

  test('C7: a config that does not fit its primitive is refused before anything starts', async () => {
    await expectError(
      await temp.create('nowhere', { tool_type: 'api', description: 'x', config: { method: 'GET' } }),
      'INVALID_CONFIG',
      'url',
    )
    await expectError(await bash('bad_timeout', 'true', { timeout: 'soon' }), 'INVALID_CONFIG', 'timeout')
  })
})

describe('programs', () => {
  test('a command that is not there', async () => {
    await temp.create('ghost_runtime', {
      tool_type: 'runtime',
      executor: 'subprocess',
      description: 'x',
      config: { command: 'no-such-program-here' },
    })
    await temp.create(
      'ghost',
      { tool_type: 'script', executor: 'ghost_runtime', description: 'x' },
      { 'main.x': '' },
    )
    await expectError(await temp.run('ghost'), 'COMMAND_NOT_FOUND', 'no-such-program-here')
  })

  test('a command that may not be started', async () => {
    const program = join(temp.folder, 'plain-file')
    writeFileSync(program, 'not a program', { mode: 0o644 })
    await temp.create('plain_runtime', {
      tool_type: 'runtime',
      executor: 'subprocess',
      description: 'x',
      config: { command: program },
    })
    await temp.create(
      'plain',
      { tool_type: 'script', executor: 'plain_runtime', description: 'x' },
      { 'main.x': '' },
    )
    const reply = await temp.run('plain')
    await expectError(reply, 'COMMAND_NOT_EXECUTABLE', 'plain-file')
  })

  test('a timeout keeps what was written before it, and leaves nobody behind', async () => {
    await bash('slow', `echo before; sleep 300 & echo $! > '${temp.folder}/pid'; wait`, {
      timeout: 0.5,
      kill_grace: 0.2,
    })
    const reply = await temp.run('slow')
    await expectError(reply, 'TIMEOUT')
    expect(reply).toMatchObject({ data: { output: 'before\n' }, error: { retryable: false } })
    expect(isAlive(Number(readFileSync(join(temp.folder, 'pid'), 'utf8')))).toBe(false)
  })

  test('10 MB of output are cut at their limit, said so, and paged', async () => {
    await bash('floods', 'head -c 10000000 /dev/zero | tr "\\\\0" x')
    const reply = await temp.run('floods')
    expect(reply).toMatchObject({
      status: 'success',
      data: { truncated: true, output_bytes: 8 * 1024 * 1024, rest: { call: 'load' } },
    })
    expect(reply.metadata.warnings?.join()).toContain('cut')
    expect(Buffer.byteLength(JSON.stringify(reply))).toBeLessThan(40_000)
    const rest = field(reply.data, 'rest', 'arguments')
    const page = await temp.call('load', {
      ...(typeof rest === 'object' ? rest : {}),
      offset: 8 * 1024 * 1024 - 10,
    })
    expect(page.data).toMatchObject({ text: 'x'.repeat(10), next_offset: null })
  })

  test('ENV-06: a child sees the allow-list, what was declared, and nothing else of ours', async () => {
    await bash('shows_env', 'env', { env: { DECLARED: 'yes' } })
    const { data, metadata } = await temp.run('shows_env')
    const names = textField(data, 'output')
      .split('\n')
      .map((line) => line.split('=')[0])
    expect(names).toContain('DECLARED')
    expect(JSON.stringify(data)).not.toContain('never-granted-value')
    const allowed =
      /^(?:PATH|HOME|LANG|LC_\w+|TZ|TMPDIR|USER|SHELL|TERM|DECLARED|KIWI_\w+|PWD|OLDPWD|SHLVL|_|)$/
    expect(names.filter((name) => !allowed.test(name ?? ''))).toEqual([])
    const records = await temp.kiwi.store.records({ limit: 9, call_id: metadata.call_id })
    expect(records).toHaveLength(2)
    expect(JSON.stringify(records)).not.toContain('never-granted-value')
    // The saved output is a file of the project.
    const saved = spawnSync('grep', ['-rlaF', 'DECLARED=yes', temp.project], { encoding: 'utf8' })
    expect(saved.stdout).toContain('.ai/outputs/')
    const found = spawnSync('grep', ['-rlaF', 'never-granted-value', temp.folder], { encoding: 'utf8' })
    expect(found).toMatchObject({ status: 1, stdout: '' })
  })
})

test('SANDBOX: what requires a sandbox that is not built is refused rather than run bare', async () => {
  await temp.create('caged', { ...BASH, sandbox: { net: 'proxy', required: true } }, { 'main.sh': 'true' })
  await expectError(await temp.run('caged'), 'SANDBOX_UNAVAILABLE')
})
