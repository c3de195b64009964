import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, array, asyncProperty, string } from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { printLine } from '../../src/chain/shell/grammar.ts'
import { field, textField } from '../fixtures/field.ts'
import type { Repository } from '../fixtures/repository.ts'
import { openRepository } from '../fixtures/repository.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { openTempKiwi } from '../temp-kiwi.ts'

let temp: TempKiwi
beforeEach(async () => {
  temp = await openTempKiwi()
})
afterEach(() => temp.close())

const shell = (parameters: object) => temp.run('shell.run', parameters)

test('H5: a line is run as it was parsed, and each command says how it ended', async () => {
  expect(
    await shell({ command: 'echo one | cat && echo "a  b"; false || printf c && false || true' }),
  ).toMatchObject({
    status: 'success',
    data: {
      output: 'one\na  b\nc',
      return_code: 0,
      steps: [
        { argv: ['echo', 'one'], return_code: 0 },
        { argv: ['cat'], return_code: 0 },
        { argv: ['echo', 'a  b'], return_code: 0 },
        { argv: ['false'], return_code: 1 },
        { argv: ['printf', 'c'], return_code: 0 },
        { argv: ['false'], return_code: 1 },
        { argv: ['true'], return_code: 0 },
      ],
    },
    metadata: { executor_chain: ['shell.run', 'shell_runtime', 'subprocess'] },
  })
})

test('H5: what is not started says so, and the line ends as its last command did', async () => {
  expect(await shell({ command: 'false && echo never' })).toMatchObject({
    error: { code: 'TOOL_FAILED' },
    data: {
      steps: [
        { argv: ['false'], return_code: 1 },
        { argv: ['echo', 'never'], return_code: null },
      ],
    },
  })
})

test('H5: folder, input and time are given beside the command', async () => {
  mkdirSync(join(temp.project, 'sub'))
  expect(await shell({ argv: ['pwd'], cwd: 'sub' })).toMatchObject({
    data: { output: expect.stringMatching(/\/project\/sub\n$/) },
  })
  expect(await shell({ command: 'cat | wc -c', input: 'abc' })).toMatchObject({ data: { output: 3 } })
  expect(await shell({ command: 'echo begun; sleep 30', timeout: 0.3 })).toMatchObject({
    error: { code: 'TIMEOUT', retryable: false },
    data: { output: 'begun\n' },
  })
})

test('CMD-01: a value is one argument, whatever stands in it', async () => {
  const hostile = ['x; touch PWNED', '$(touch PWNED)', '`touch PWNED`', '|', '\n', '*', '~', '']
  const reply = await shell({ argv: ['printf', '%s\\0', ...hostile] })
  expect(textField(reply.data, 'output').split('\0').slice(0, -1)).toEqual(hostile)
  expect(existsSync(join(temp.project, 'PWNED'))).toBe(false)
})

test('H5: what the grammar does not take is refused with its place and both ways on', async () => {
  expect(await shell({ command: 'echo $(touch PWNED)' })).toMatchObject({
    error: {
      code: 'INVALID_PARAMETERS',
      message: 'Cannot run the command: "$" at column 6 is nothing that is run without a shell',
      hint: expect.stringContaining('raw: true'),
      details: { required: 'shell:raw' },
    },
  })
  expect(existsSync(join(temp.project, 'PWNED'))).toBe(false)
})

test.each([
  ['', 'Cannot run the command: no command at column 1'],
  ['echo a &&', 'Cannot run the command: nothing after "&&" at column 10'],
  ['&& echo', 'Cannot run the command: "&&" without a command before it at column 1'],
  ['echo "a', 'Cannot run the command: a " that is not closed at column 6'],
])(
  'H5: of %j, which no shell would take either, it is said what is wrong, and no shell is offered',
  async (command, message) => {
    const { error } = await shell({ command })
    expect(error).toMatchObject({ code: 'INVALID_PARAMETERS', message })
    expect(error?.hint).not.toContain('raw')
  },
)

test.each([
  [{}, '"argv" is missing; "value" must have one of its forms'],
  [{ argv: ['a'], command: 'a' }, 'not both'],
  [{ argv: ['a'], raw: true }, 'needs no shell'],
])('H5: %j is no command', async (parameters, reason) => {
  expect(await shell(parameters)).toMatchObject({
    error: { code: 'INVALID_PARAMETERS', message: expect.stringContaining(reason) },
  })
})

test('H5: a path is only taken when it leads to the program of that name', async () => {
  writeFileSync(join(temp.project, 'echo'), '#!/bin/sh\ntouch PWNED\n')
  chmodSync(join(temp.project, 'echo'), 0o755)
  expect(await shell({ command: '/bin/echo hi' })).toMatchObject({ data: { output: 'hi\n' } })
  expect(await shell({ command: './echo hi' })).toMatchObject({ error: { code: 'INVALID_PARAMETERS' } })
  expect(await shell({ command: 'echo hi' })).toMatchObject({ data: { output: 'hi\n' } })
  expect(existsSync(join(temp.project, 'PWNED'))).toBe(false)
})

test('H5: what is not on the PATH is told what would be', async () => {
  for (const name of ['./src', 'no-such-program']) {
    const { error } = await shell({ argv: [name] })
    expect(error).toMatchObject({
      code: 'COMMAND_NOT_FOUND',
      hint: 'Name a program that is on the PATH; a script is started by its interpreter, as in "sh build.sh"',
    })
  }
})

test('S9: a dry run shows commands as they were given; what a person is asked about has every argument', async () => {
  openRepository(temp.project)
  const rehearse = async (command: string, more: object = {}) =>
    field(
      (
        await temp.call('execute', {
          item_type: 'tool',
          action: 'run',
          item_id: 'shell.run',
          parameters: { command, ...more },
          dry_run: true,
        })
      ).data,
      'would_run',
    )
  expect(await rehearse('git status | cat')).toMatchObject({
    commands: [[expect.stringMatching(/\/git$/), 'status'], [expect.stringMatching(/\/cat$/)]],
    with: "Kiwi's fixed options",
  })
  expect(await rehearse('cat x')).not.toHaveProperty('with')
  expect(await rehearse('git log', { raw: true })).toMatchObject({
    commands: [[expect.stringMatching(/\/sh$/), '-c', 'git log']],
  })
  temp.write('config/agent_harness.yaml', 'mode: direct\ngit: { require_approval: [status] }\n')
  const { data } = await shell({ command: 'git status' })
  const { summary } = await temp.kiwi.questions.find(textField(data, 'approval_id'))
  expect(field(summary, 'would', 'would_run', 'commands', 0)).toContain('core.hooksPath=/dev/null')
})

test('H5: the parse executed equals the parse checked: a program gets the arguments that were judged', async () => {
  const script = 'process.stdout.write(JSON.stringify(process.argv.slice(1)))'
  const words = array(
    string({ unit: 'grapheme', maxLength: 8 }).filter((text) => !text.includes('\0')),
    {
      maxLength: 5,
    },
  )
  let turn = 0
  await assert(
    asyncProperty(words, async (given) => {
      // Numbered, since calls that are alike would be asked about.
      const args = [String((turn += 1)), ...given]
      const argv = ['node', '-e', script, '--', ...args]
      const reply = await shell({ command: printLine([{ joint: ';', pipeline: [argv] }]) })
      expect(field(reply.data, 'output')).toEqual(args)
      expect(field(reply.data, 'steps', 0, 'argv')).toEqual(argv)
    }),
    { numRuns: 12 },
  )
})

test('H5: a user policy that does not keep its examples makes the program unavailable, and is named', async () => {
  mkdirSync(join(temp.folder, 'user/config/argv'), { recursive: true })
  writeFileSync(
    join(temp.folder, 'user/config/argv/echo.yaml'),
    'program: echo\nrefuse_options: [-n]\nexamples: {match: [[echo, -n]], not_match: []}\n',
  )
  expect(await shell({ command: 'echo a' })).toMatchObject({
    error: { code: 'POLICY_ERROR', message: expect.stringContaining('its example ["echo","-n"] is refused') },
  })
})

describe('with git and npm allowed by name', () => {
  let repository: Repository
  beforeEach(() => {
    temp.write(
      'config/agent_harness.yaml',
      'mode: proxy\ninternal_tools:\n  shell:\n    enabled: true\n    allowed_commands: [git, npm]\n    blocked_commands: [rm -rf]\n',
    )
    repository = openRepository(temp.project)
  })

  test('H5: "git status && git log -1" runs', async () => {
    expect(await shell({ command: 'git status && git log -1 --format=%s' })).toMatchObject({
      status: 'success',
      data: { output: expect.stringMatching(/first\n$/) },
    })
  })

  test('H5: "git status; rm -rf x" is refused by the rule for rm, and nothing starts', async () => {
    mkdirSync(join(temp.project, 'x'))
    const reply = await shell({ command: 'git status; rm -rf x' })
    expect(reply).toMatchObject({
      data: null,
      error: {
        code: 'PERMISSION_DENIED',
        details: { op: 'exec', resource: expect.stringMatching(/\/rm -rf x$/) },
      },
    })
    expect(existsSync(join(temp.project, 'x'))).toBe(true)
  })

  test.each([
    ['rm x'],
    ['git status | sh'],
    ['git status || env rm -rf x'],
    ['git log\nrm -rf /'],
    ['git -c alias.z=!sh z'],
    ['git -c core.pager=sh -p log'],
    ['git -c core.fsmonitor=./x status'],
    ['git -c diff.external=./x diff'],
    ['git -c core.sshCommand=./x fetch origin'],
    ['git --config-env=core.sshCommand=X fetch'],
    ['git --exec-path=. status'],
    ['git --git-dir=evil status'],
    ['git log --output=x'],
    ['git log --outp=x'],
    ['git diff --no-index /etc/passwd a.txt'],
    ['git diff --ext-diff'],
    ['git grep -Osh x'],
    ['git grep --open-files-in=sh x'],
    ['git fetch --upload-pack=./x origin'],
    ['git push --receive-pack=./x origin'],
    ['git bisect run sh'],
    ['git rebase -x sh HEAD'],
    ['git submodule foreach sh'],
    ['git config alias.z !sh'],
    ['git filter-branch x'],
    ['npm --script-shell=./x test'],
    ['npm test --script-sh=./x'],
    ['npm run build --node-options=--require=./x'],
    ['npm exec -- x'],
    ['npm config set script-shell ./x'],
    ['npm explore x'],
    ['npm install -g x'],
  ])('CMD-04 H5: %j is refused, and nothing starts', async (command) => {
    const taken = command.replaceAll('!', '')
    expect(await shell({ command: taken })).toMatchObject({
      data: null,
      error: { code: 'PERMISSION_DENIED' },
    })
  })

  test.each([
    ['git commit --allow-empty -m "fix: a; b | c && d"'],
    ['git log --oneline -n 1 HEAD~0'],
    ['git diff --text'],
    ['git switch -c topic'],
    ['git grep -n one -- a.txt'],
  ])('BEN: %j passes', async (command) => {
    repository.git('config', 'user.email', 'ada@example.com')
    repository.git('config', 'user.name', 'Ada')
    expect(await shell({ command })).toMatchObject({ status: 'success' })
  })
})

test('APR-04: kiwi is not started from a line, by its name or in another way', async () => {
  const bin = join(temp.folder, 'bin')
  mkdirSync(bin)
  const cli = join(import.meta.dirname, '../../dist/cli.js')
  writeFileSync(join(bin, 'kiwi'), `#!/bin/sh\nexec node ${cli} "$@"\n`, { mode: 0o755 })
  const beside = await openTempKiwi({
    beside: temp,
    environment: { PATH: `${bin}:${process.env['PATH'] ?? ''}` },
  })
  try {
    const refused = await beside.run('shell.run', { command: 'kiwi approve abcdef' })
    expect(refused.error).toMatchObject({ code: 'PERMISSION_DENIED', details: { layer: 'machine' } })
    const other = await beside.run('shell.run', { argv: ['node', cli, 'approve', 'abcdef'] })
    expect(JSON.stringify(other)).toContain('PERMISSION_DENIED')
    expect(other.status).toBe('error')
  } finally {
    await beside.close()
  }
})

test.each(['python3.11', 'perl5.36.0', 'node20', 'ruby3.1'])(
  'H5: %s is known as the program that it is a version of, and runs code as that does',
  async (name) => {
    const bin = join(temp.folder, 'bin')
    mkdirSync(bin)
    writeFileSync(join(bin, name), '#!/bin/sh\necho ran\n', { mode: 0o755 })
    temp.write(
      'config/agent_harness.yaml',
      'mode: direct\ninternal_tools: { shell: { allowed_commands: [python, perl, node, ruby] } }\n',
    )
    const beside = await openTempKiwi({
      beside: temp,
      environment: { PATH: `${bin}:${process.env['PATH'] ?? ''}` },
    })
    try {
      const reply = await beside.run('shell.run', { argv: [name, '-c', '1'] })
      expect(reply).toMatchObject({ status: 'approval_required' })
      expect(JSON.stringify(reply.data)).toContain('project/shell.runs_code')
    } finally {
      await beside.close()
    }
  },
)
