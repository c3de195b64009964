import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openResolver } from '../src/chain/resolve.ts'
import { openSchemas } from '../src/chain/schemas.ts'
import { openValidate } from '../src/chain/validate.ts'
import { openSubprocess } from '../src/primitives/subprocess/subprocess.ts'
import { systemClock } from '../src/shared/clock.ts'
import type { JsonObject } from '../src/shared/json.ts'
import type { Reply } from '../src/shared/reply.ts'
import { stripSignatures } from '../src/spaces/signature-line.ts'
import { sampleFile, sampleItem, shippedItem } from './fixtures/sample-item.ts'
import { TRUSTING } from './fixtures/trusted.ts'
import type { TempKiwi } from './temp-kiwi.ts'
import { openTempKiwi } from './temp-kiwi.ts'

const RUN = { callId: 'call-1', isRun: true }

let temp: TempKiwi
beforeAll(async () => {
  temp = await openTempKiwi({ environment: { RULES_SECRET: 'kiwi-canary-of-the-rules' } })
})
afterAll(() => temp.close())

const make = (
  id: string,
  tool_type: string,
  files: Record<string, string>,
  more: object = {},
): Promise<Reply> =>
  temp.call('execute', {
    item_type: 'tool',
    action: 'create',
    item_id: id,
    parameters: { manifest: { tool_type, description: 'a tool of the tests', ...more }, files },
  })
const runtime = (id: string, validation: JsonObject, more: JsonObject = {}): Promise<Reply> =>
  temp.create(id, {
    tool_type: 'runtime',
    executor: 'subprocess',
    description: 'a runtime of the tests',
    config: { command: 'cat' },
    validation,
    ...more,
  })
const isThere = (id: string): boolean => existsSync(join(temp.project, '.ai/tools', id))

describe('C8: what a runtime of ours refuses is not written', () => {
  test.each([
    ['python', 'main.py', 'def f(:\n  pass\n', 'SyntaxError'],
    ['python', 'main.py', 'return 1\n', 'outside function'],
    ['bash', 'main.sh', '#!/bin/bash\nif true; then\n', 'syntax error'],
    ['node', 'main.mjs', 'console.log(1\n', 'SyntaxError'],
  ])('broken %s, with what its own compiler says', async (type, file, text, said) => {
    const { error } = await make(`broken_${type}`, type, { [file]: text })
    expect(error).toMatchObject({
      code: 'VALIDATION_FAILED',
      message: expect.stringMatching(new RegExp(`^Cannot create "broken_${type}": ${file}: .*${said}`)),
      details: {
        findings: [
          {
            rule: 'syntax_check',
            tool: `${type}_runtime`,
            path: file,
            reason: expect.stringContaining(said),
          },
        ],
      },
    })
    expect(JSON.stringify(error)).not.toContain(tmpdir())
    expect(isThere(`broken_${type}`)).toBe(false)
  })

  test('every file with the ending of the one that is started is looked at, and all faults are listed', async () => {
    const { error } = await make('many', 'python', {
      'main.py': 'import lib.part',
      'lib/part.py': 'x = (',
      'lib/other.py': 'y = [',
      'notes.txt': 'z = {',
    })
    expect(error).toMatchObject({
      message: expect.stringContaining('(and 1 more)'),
      hint: expect.stringMatching(/^Correct all of these: lib\/part\.py: .*; lib\/other\.py: /),
      details: { findings: [{ path: 'lib/part.py' }, { path: 'lib/other.py' }] },
    })
  })

  test.each([
    '\n:(){ :|:& };:\n',
    '\n:() { : | : & } ; :',
    '\nrm -rf /\n',
    '\nsudo rm -fr / --no-preserve-root',
    '\nrm -r -f "/"',
    '\nx; rm -rf /*',
  ])('a shell script that holds %j', async (lines) => {
    expect((await make('bomb', 'bash', { 'main.sh': `#!/bin/bash${lines}` })).error).toMatchObject({
      code: 'VALIDATION_FAILED',
      details: { findings: [{ rule: 'pattern_check', tool: 'bash_runtime', path: 'main.sh', line: 2 }] },
    })
    expect(isThere('bomb')).toBe(false)
  })

  test.each([
    'rm -rf /tmp/x',
    'rm -f /',
    'rm -rf "$folder"/',
    'rm -rf ./*',
    '# never rm -rf /',
    'arm -rf / || :',
  ])('and not one that holds %j', async (line) => {
    const id = `tame_${Buffer.from(line).toString('hex')}`
    expect(await make(id, 'bash', { 'main.sh': `#!/bin/bash\nexit\n${line}\n` })).toMatchObject({
      status: 'success',
    })
  })

  test('a shell script without a shebang', async () => {
    expect((await make('bare', 'bash', { 'main.sh': 'true' })).error).toMatchObject({
      code: 'VALIDATION_FAILED',
      details: { findings: [{ rule: 'shebang_required', path: 'main.sh', line: 1 }] },
    })
  })

  test('os.system in Python is a warning, at create and at every run', async () => {
    const files = { 'main.py': 'import os\nos.system("true")\nprint(1)\n' }
    const warnings = expect.arrayContaining(['main.py:2 holds the dangerous pattern "os.system"'])
    expect(await make('shells_out', 'python', files)).toMatchObject({
      status: 'success',
      metadata: { warnings },
    })
    for (let turn = 0; turn < 2; turn++)
      expect(await temp.run('shells_out')).toMatchObject({ data: { output: 1 }, metadata: { warnings } })
  })
})

describe('C8: what lies in a project by another way is looked at when it is run', () => {
  const put = (id: string, text: string, file = 'main.py'): void => {
    const type = file.endsWith('.sh') ? 'bash' : 'python'
    temp.write(
      `tools/${id}/tool.yaml`,
      JSON.stringify({ tool_type: type, version: '1.0.0', description: id }),
    )
    temp.write(`tools/${id}/${file}`, text)
    temp.kiwi.spaces.at(temp.project).freshen(true)
  }

  test('broken Python is refused with the words of the compiler before anything of it runs', async () => {
    put('half_good', `open(${JSON.stringify(join(temp.folder, 'ran'))}, "w")\nx = (\n`)
    expect((await temp.run('half_good')).error).toMatchObject({
      code: 'VALIDATION_FAILED',
      message: `Cannot run "half_good": main.py: SyntaxError: '(' was never closed`,
    })
    expect(existsSync(join(temp.folder, 'ran'))).toBe(false)
  })

  test('so is what a runtime blocks; a missing shebang is a warning there', async () => {
    put('bomb_in_file', 'echo hi\n:(){ :|:& };:\n', 'main.sh')
    expect((await temp.run('bomb_in_file')).error?.details).toMatchObject({
      findings: [{ rule: 'pattern_check', line: 2 }],
    })
    put('bare_in_file', 'echo hi\n', 'main.sh')
    expect(await temp.run('bare_in_file')).toMatchObject({
      data: { output: 'hi\n' },
      metadata: {
        warnings: expect.arrayContaining([
          expect.stringContaining('main.sh:1: its first line is no shebang'),
        ]),
      },
    })
  })

  test('S9: a dry run starts nothing, and says what it would start; what needs no program is refused', async () => {
    const dry = (item_id: string): Promise<Reply> =>
      temp.call('execute', { item_type: 'tool', action: 'run', item_id, dry_run: true })
    put('fresh', 'print(1)')
    expect((await dry('fresh')).data).toMatchObject({ would_check: [expect.stringMatching(/\/python3$/)] })
    await temp.run('fresh')
    expect((await dry('fresh')).data).not.toHaveProperty('would_check')
    put('bomb_to_be', ':(){ :|:& };:\n', 'main.sh')
    expect((await dry('bomb_to_be')).error?.code).toBe('VALIDATION_FAILED')
  })

  test('H2: the checker is judged and recorded like the program of the tool', async () => {
    put('watched', 'print(2)')
    const demandsOf = async (reply: Reply): Promise<unknown> => {
      const records = await temp.kiwi.store.records({ limit: 5, call_id: reply.metadata.call_id })
      return records.find(({ kind }) => kind === 'decision')?.body
    }
    const exec = expect.stringMatching(/^exec .*python3(?: .*main\.py)?$/)
    expect(await demandsOf(await temp.run('watched'))).toMatchObject({
      demands: ['tool watched', exec, exec],
    })
    expect(await demandsOf(await temp.run('watched'))).toMatchObject({ demands: ['tool watched', exec] })
  })
})

describe('C8: a new rule in a runtime of a user takes effect with no code', () => {
  const counted = (mark: string): JsonObject => ({
    rules: [
      {
        type: 'syntax_check',
        command: ['sh', '-c', `echo x >> '${mark}'; grep -q good "$1"`, 'sh', '{entrypoint}'],
      },
    ],
  })

  test('equal content is looked at once, also by another process; a change of rule or content counts', async () => {
    const mark = join(temp.folder, 'looks')
    const looks = (): number => readFileSync(mark, 'utf8').length / 2
    await runtime('counting_runtime', counted(mark))
    const executor = 'counting_runtime'
    expect((await make('counted', 'script', { 'main.txt': 'good' }, { executor })).status).toBe('success')
    expect(looks()).toBe(1)
    await temp.run('counted')
    const other = await openTempKiwi({ beside: temp })
    try {
      expect(await other.run('counted')).toMatchObject({ data: { output: 'good' } })
      expect(looks()).toBe(1)
      temp.write('tools/counted/main.txt', 'bad')
      const manifest = join(temp.project, '.ai/tools/counted/tool.yaml')
      writeFileSync(manifest, stripSignatures(readFileSync(manifest, 'utf8'), manifest))
      temp.kiwi.spaces.at(temp.project).freshen(true)
      for (let turn = 0; turn < 2; turn++)
        expect((await temp.run('counted')).error).toMatchObject({ code: 'VALIDATION_FAILED' })
      expect(looks()).toBe(2)
    } finally {
      await other.close()
    }
  })

  test('CMD-01: a command is split on blanks and never seen by a shell; without {entrypoint} the file is added', async () => {
    const files = { 'a b;touch PWNED.txt': 'x' }
    const config = { entrypoint: 'a b;touch PWNED.txt' }
    await runtime('shelly', {
      rules: [{ type: 'syntax_check', command: 'cat {entrypoint} ;touch $(id) PWNED' }],
    })
    const { error } = await make('plainly', 'script', files, { executor: 'shelly', config })
    // Each word is one that `cat` was given.
    expect(error?.details).toMatchObject({
      findings: [
        { reason: expect.stringMatching(/cat: ';touch': .*\n.*cat: '\$\(id\)': .*\n.*cat: PWNED: [^\n]*$/) },
      ],
    })
    await runtime('unplaced', { rules: [{ type: 'syntax_check', command: 'test -f' }] })
    expect((await make('plainly', 'script', files, { executor: 'unplaced', config })).status).toBe('success')
  })

  test('the checker sees nothing of the environment, and nothing of the item where it starts', async () => {
    const said = join(temp.folder, 'said')
    const command = ['sh', '-c', `(env; pwd; echo "files:"; ls -A) > '${said}'`]
    await runtime('nosy_runtime', { rules: [{ type: 'syntax_check', command }] })
    await make('nosy_child', 'script', { 'main.txt': 'x' }, { executor: 'nosy_runtime' })
    const text = readFileSync(said, 'utf8')
    expect(text).toMatch(/^PATH=/m)
    expect(text).not.toContain('kiwi-canary')
    expect(text).toMatch(/files:\n$/)
    const [, folder = ''] = /\n(\S*\/checks\/check-[^\n/]+)/.exec(text) ?? []
    expect(folder).not.toBe('')
    expect(existsSync(folder)).toBe(false)
  })

  test('a rule may name its files, and a checker that is not installed is a warning', async () => {
    await runtime('named_runtime', {
      rules: [
        { type: 'syntax_check', command: ['grep', '-q', 'good'], files: '*.json' },
        { type: 'syntax_check', command: 'no-such-checker {entrypoint}' },
      ],
    })
    const more = { executor: 'named_runtime', config: { entrypoint: 'main.txt' } }
    expect(
      (await make('named', 'script', { 'main.txt': 'bad', 'a/b.json': 'bad' }, more)).error,
    ).toMatchObject({
      details: { findings: [{ path: 'a/b.json', reason: 'its syntax check ended with code 1' }] },
    })
    expect(await make('named', 'script', { 'main.txt': 'bad', 'a/b.json': 'good' }, more)).toMatchObject({
      status: 'success',
      metadata: { warnings: expect.arrayContaining([expect.stringContaining('"no-such-checker"')]) },
    })
  })

  test('the example of the seed works as it is written', async () => {
    await runtime(
      'seed_python',
      {
        rules: [
          { type: 'syntax_check', command: 'python3 -m py_compile {entrypoint}' },
          {
            type: 'pattern_check',
            patterns: { dangerous: ['os.system', 'subprocess.call.*shell=True'], warn_only: true },
          },
        ],
      },
      { config: { command: 'python3' } },
    )
    const more = { executor: 'seed_python' }
    expect((await make('seed_tool', 'script', { 'main.py': 'x = (' }, more)).error?.details).toMatchObject({
      findings: [{ reason: expect.stringContaining('never closed') }],
    })
    // A module of the item with the name of the checker is not taken for the checker.
    const files = {
      'main.py': 'import subprocess\nprint("ok")  # subprocess.call("x", shell=True)\n',
      'py_compile.py': 'raise SystemExit(3)',
    }
    const warnings = expect.arrayContaining([expect.stringMatching(/^main\.py:2 .*shell=True/)])
    expect(await make('seed_tool', 'script', files, more)).toMatchObject({
      status: 'success',
      metadata: { warnings },
    })
    expect(await temp.run('seed_tool')).toMatchObject({ data: { output: 'ok\n' } })
  })

  test('child_schemas: what the manifest of a child must hold', async () => {
    const schema = { required: ['outputs'], properties: { config: { required: ['image'] } } }
    await runtime('strict_runtime', { child_schemas: [{ match: { tool_type: 'script' }, schema }] })
    const more = { executor: 'strict_runtime' }
    expect((await make('loose_child', 'script', { 'main.txt': 'x' }, more)).error).toMatchObject({
      code: 'VALIDATION_FAILED',
      message: expect.stringContaining('"outputs" is missing; "config.image" is missing'),
      details: { findings: [{ rule: 'child_schema', tool: 'strict_runtime', path: null }] },
    })
    const full = { ...more, outputs: {}, config: { image: 'x' } }
    expect((await make('full_child', 'script', { 'main.txt': 'x' }, full)).status).toBe('success')
  })

  test('an unknown rule is a warning, a broken one is refused by name', async () => {
    await runtime('future_runtime', { rules: [{ type: 'spell_check' }] })
    expect(
      await make('spelled', 'script', { 'main.txt': 'x' }, { executor: 'future_runtime' }),
    ).toMatchObject({
      status: 'success',
      metadata: { warnings: expect.arrayContaining([expect.stringContaining('"spell_check"')]) },
    })
    await runtime('wrong_runtime', { rules: [{ type: 'pattern_check', patterns: { dangerous: ['(.*'] } }] })
    expect(
      (await make('wronged', 'script', { 'main.txt': 'x' }, { executor: 'wrong_runtime' })).error,
    ).toMatchObject({
      code: 'INVALID_MANIFEST',
      message: expect.stringContaining('of "wrong_runtime"'),
    })
  })
})

test('C8: a result is kept only for the content that was looked at', async () => {
  const item = sampleItem({ tool_id: 'swapped', tool_type: 'script', executor: 'bash_runtime' }, [
    sampleFile('main.sh', '#!/bin/bash\n:(){ :|:& };:'),
  ])
  const schemas = openSchemas()
  const swapped = { ...item, files: async () => [sampleFile('main.sh', '#!/bin/bash\ntrue')] }
  const lookup = temp.kiwi.spaces.at(temp.project)
  const subprocess = openSubprocess({ clock: systemClock })
  try {
    const validate = openValidate({ clock: systemClock, config: temp.config, subprocess, schemas })
    const resolver = openResolver(schemas, TRUSTING)
    await expect(resolver.plan(swapped, lookup).then((plan) => validate(plan, RUN))).rejects.toMatchObject({
      code: 'CONFLICT',
    })
    const { found } = await validate(await resolver.plan(item, lookup), RUN)
    expect(found.findings).toMatchObject([{ rule: 'pattern_check' }])
  } finally {
    await subprocess.close()
  }
})

test.each(['hello_world', 'hello_bash', 'hello_node'])(
  'C8: the shipped %s passes the rules of its runtime',
  async (id) => {
    const subprocess = openSubprocess({ clock: systemClock })
    const item = { ...(await shippedItem(id)), space: 'project' as const }
    const lookup = temp.kiwi.spaces.at(temp.project)
    try {
      const schemas = openSchemas()
      const plan = await openResolver(schemas, TRUSTING).plan(item, lookup)
      expect(plan.rules.rules.length).toBeGreaterThan(0)
      const validation = await openValidate({ clock: systemClock, config: temp.config, subprocess, schemas })(
        plan,
        RUN,
      )
      expect(await validation.finish()).toEqual({ findings: [], warnings: [] })
    } finally {
      await subprocess.close()
    }
  },
)
