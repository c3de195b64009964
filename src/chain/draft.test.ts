import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { JsonObject } from '../shared/json.ts'
import type { TempChain } from '../../test/fixtures/temp-chain.ts'
import { openTempChain } from '../../test/fixtures/temp-chain.ts'

const CANARY = 'kiwi-canary-0123456789'
let temp: TempChain

beforeAll(async () => {
  temp = await openTempChain({ environment: { CANARY, TOOL_NAME: CANARY } })
})
afterAll(() => temp.close())

const script = (id: string, more: JsonObject = {}, executor = 'bash_runtime'): void =>
  temp.tool(id, { tool_type: 'script', executor, ...more }, { 'main.sh': 'echo hello' })
const runtime = (id: string, config: JsonObject, more: JsonObject = {}): void =>
  temp.tool(id, { tool_type: 'runtime', executor: 'subprocess', config, ...more })

function program(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `#!/bin/sh\n${text}\n`)
  chmodSync(file, 0o755)
}

describe('a draft is the call to the last argument, before anything happens', () => {
  test('of a program: its whole path, and its files where they will lie', async () => {
    script('plain')
    const { effect, parameters, warnings } = await temp.draft('plain')
    const { item } = await temp.plan('plain')
    const folder = join(temp.cache, 'work', item.contentHash)
    expect(effect).toMatchObject({
      kind: 'subprocess',
      command: {
        command: expect.stringMatching(/^\/.*\/bash$/),
        args: [join(folder, 'main.sh')],
        cwd: folder,
        input: '{}',
      },
    })
    expect({ parameters, warnings }).toEqual({ parameters: {}, warnings: [] })
  })

  test('of a program in another folder: the same command with other paths', async () => {
    script('moved', { config: { env: { HERE: '{tool_path}' } } })
    const { effect } = await temp.draft('moved')
    const { command, inFolders } =
      effect.kind === 'subprocess' ? effect : { command: null, inFolders: () => null }
    const folder = command?.cwd ?? ''
    const elsewhere = JSON.parse(JSON.stringify(command).replaceAll(folder, '/elsewhere'))
    expect(folder).not.toBe('')
    expect(inFolders({ workFolder: '/elsewhere', runtimeFolder: null, libraryFolder: null })).toEqual(
      elsewhere,
    )
    expect(inFolders({ workFolder: folder, runtimeFolder: null, libraryFolder: null })).toBe(command)
  })

  test('of a request: filled in, with a word on credentials that are empty', async () => {
    temp.tool('asking', {
      tool_type: 'api',
      config: { url: 'https://example.com/{id}', auth: { token: '${CANARY:-}' } },
      parameters: [{ name: 'id', type: 'integer', default: 3 }],
    })
    const { effect, parameters, warnings } = await temp.draft('asking')
    expect(effect).toMatchObject({
      kind: 'http_client',
      request: { method: 'GET', url: 'https://example.com/3', headers: {} },
    })
    expect(parameters).toEqual({ id: 3 })
    expect(warnings).toEqual(['auth "bearer" is empty: no credentials were sent'])
  })

  test.each<[JsonObject, boolean | null]>([
    [{}, null],
    [{ idempotent: true }, true],
    [{ idempotent: false }, false],
    [{ mutates_state: false }, true],
    [{ mutates_state: true }, null],
  ])('P8: with %j a request may be sent twice: %s', async (more, isIdempotent) => {
    temp.tool('maybe', { tool_type: 'api', config: { method: 'POST', url: 'https://example.com/' }, ...more })
    expect((await temp.draft('maybe')).effect).toMatchObject({ request: { isIdempotent } })
  })

  test('of knowledge: only that its content is handed over', async () => {
    temp.write('knowledge/notes.md', '# Notes\n')
    temp.lookup.freshen(true)
    expect(await temp.draft('notes')).toMatchObject({ effect: { kind: 'content' }, warnings: [] })
  })

  test('wrong parameters end it', async () => {
    script('strict', { parameters: [{ name: 'n', type: 'integer', required: true }] })
    await expect(temp.draft('strict', { m: 1 })).rejects.toMatchObject({
      code: 'INVALID_PARAMETERS',
      details: { missing: ['n'], invalid: [{ name: 'm' }] },
    })
  })
})

describe('what is not run by itself says what to do instead', () => {
  test.each([
    ['subprocess', 'Create a tool whose executor is "subprocess" and run that'],
    ['python_runtime', 'Create a tool whose executor is "python_runtime" and run that'],
    ['mcp_github', 'Run one of its tools: github.<tool>; load shows them'],
  ])('%s', async (id, hint) => {
    await expect(temp.draft(id, { command: 'id' })).rejects.toMatchObject({ code: 'UNKNOWN_ACTION', hint })
  })
})

describe('the program', () => {
  test('that is nowhere on the PATH is refused by name', async () => {
    runtime('absent_runtime', { command: 'no-such-program' })
    script('absent', {}, 'absent_runtime')
    await expect(temp.draft('absent')).rejects.toMatchObject({
      code: 'COMMAND_NOT_FOUND',
      message: 'Cannot run "no-such-program": it is not on the PATH',
      details: { command: 'no-such-program' },
    })
  })

  test('that may not be executed is told apart from one that is not there', async () => {
    const bin = join(temp.folder, 'bin')
    mkdirSync(bin)
    writeFileSync(join(bin, 'closed'), '#!/bin/sh\n')
    chmodSync(join(bin, 'closed'), 0o644)
    const command = join(bin, 'closed')
    runtime('closed_runtime', { command })
    script('closed', {}, 'closed_runtime')
    await expect(temp.draft('closed')).rejects.toMatchObject({
      code: 'COMMAND_NOT_EXECUTABLE',
      message: `Cannot run "${command}": it may not be executed`,
    })
  })

  test("CHN-03: is looked for on Kiwi's own PATH, whatever PATH the child is given", async () => {
    const bin = join(temp.folder, 'evil-bin')
    program(join(bin, 'bash'), 'echo evil')
    script('lured', { config: { env: { PATH: bin } } })
    const { effect } = await temp.draft('lured')
    expect(effect).toMatchObject({
      command: { command: expect.not.stringContaining(bin), env: { PATH: bin } },
    })
    expect((await temp.run('lured')).data['output']).toBe('hello\n')
  })

  test('that was judged is the one that starts, whatever comes before it on the PATH since', async () => {
    const [before, later] = [join(temp.folder, 'before'), join(temp.folder, 'later')]
    program(join(later, 'pinned'), 'echo judged')
    const own = await openTempChain({ environment: { PATH: `${before}:${later}:/usr/bin:/bin` } })
    try {
      own.tool('pinned_runtime', {
        tool_type: 'runtime',
        executor: 'subprocess',
        config: { command: 'pinned' },
      })
      own.tool('late', { tool_type: 'script', executor: 'pinned_runtime' }, { 'main.sh': '' })
      const draft = await own.draft('late')
      program(join(before, 'pinned'), 'echo other')
      // As long as a program is taken to be where it was found.
      await new Promise((resolve) => setTimeout(resolve, 1100))
      expect((await own.chain.perform(draft)).data['output']).toBe('judged\n')
    } finally {
      await own.close()
    }
  })

  test('RED-01: a refusal does not show a secret that it was made of', async () => {
    runtime('secret_runtime', { command: '/opt/${TOOL_NAME}' }, { secrets: ['TOOL_NAME'] })
    script('secret', {}, 'secret_runtime')
    const { digest } = await temp.plan('secret')
    temp.grants.push({ tool: 'secret', hash: digest, names: ['TOOL_NAME'] })
    const error: unknown = await temp.draft('secret').catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      code: 'COMMAND_NOT_FOUND',
      message: expect.stringContaining('[REDACTED:TOOL_NAME]'),
    })
    expect(JSON.stringify(error)).not.toContain(CANARY)
    expect(error instanceof Error && error.message).not.toContain(CANARY)
  })
})
