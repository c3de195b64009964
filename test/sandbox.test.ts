import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Reply } from '../src/shared/reply.ts'
import { field, textField } from './fixtures/field.ts'
import type { TempKiwi } from './temp-kiwi.ts'
import { BASH, openTempKiwi } from './temp-kiwi.ts'

// A host without bubblewrap fails here, and says so: a skip would hide that nothing was proven.
let temp: TempKiwi
let outside: string
beforeAll(async () => {
  temp = await openTempKiwi()
  outside = join(temp.folder, 'outside')
  mkdirSync(outside)
  mkdirSync(join(temp.folder, '.ssh'))
  writeFileSync(join(temp.folder, '.ssh', 'id'), 'a key')
  mkdirSync(join(temp.project, '.git'))
  writeFileSync(join(temp.project, '.git', 'config'), 'as it was')
})
afterAll(() => temp.close())

let made = 0
/** Runs these lines of shell, held like this. */
async function held(sandbox: object, lines: string, more: object = {}): Promise<Reply> {
  const id = `held_${++made}`
  const created = await temp.create(id, { ...BASH, sandbox, ...more }, { 'main.sh': lines })
  expect(created.error).toBeNull()
  return temp.run(id)
}
const outputOf = ({ data, error }: Reply): string => {
  expect(error).toBeNull()
  return textField(data, 'output').trim()
}

describe('X8: level fs', () => {
  test('X8: a write outside fails, the temporary folder is its own, the rest is as usual', async () => {
    const reply = await held(
      { level: 'fs' },
      `mkdir -p ${outside}; echo x 2>/dev/null >${outside}/a
echo x 2>/dev/null >/etc/kiwi-test && echo WROTE
echo x 2>/dev/null >"$KIWI_PROJECT_PATH/a" && echo WROTE
echo mine >/tmp/kiwi-mine && cat /tmp/kiwi-mine
cat "$KIWI_PROJECT_PATH/.git/config"; echo
test -w /dev/null && test -d /proc/$PPID && echo as usual`,
    )
    expect(outputOf(reply)).toBe('mine\nas it was\nas usual')
    expect(reply.data).toMatchObject({ sandbox: { level: 'fs', mechanism: 'bubblewrap', net: 'all' } })
    expect([join(outside, 'a'), '/tmp/kiwi-mine'].filter(existsSync)).toEqual([])
    const [outcome] = await temp.kiwi.store.records({ limit: 1, call_id: reply.metadata.call_id })
    expect(outcome).toMatchObject({ kind: 'outcome', body: { sandbox: { level: 'fs' } } })
  })

  test('X8: what is listed can be written, but neither its .git nor its .ai', async () => {
    const reply = await held(
      { level: 'fs', write: ['${PROJECT_PATH}'] },
      `cd "$KIWI_PROJECT_PATH" && echo done >made && echo ok
echo x 2>/dev/null >>.git/config && echo WROTE
echo x 2>/dev/null >.ai/tools/x && echo WROTE
rm -rf .git .ai 2>/dev/null
mv .git other 2>/dev/null && echo MOVED
true`,
    )
    expect(outputOf(reply)).toBe('ok')
    expect(readFileSync(join(temp.project, 'made'), 'utf8')).toBe('done\n')
    expect(readFileSync(join(temp.project, '.git', 'config'), 'utf8')).toBe('as it was')
  })

  test('X8, CMD-07: it sees no process but its own, and none of them outlives the call', async () => {
    const late = join(temp.project, 'late')
    const reply = await held(
      { level: 'fs', write: ['${PROJECT_PATH}'] },
      `kill -0 ${process.pid} 2>/dev/null && echo SIGNALLED
test -e /proc/${process.pid}/environ && tr '\\0' '\\n' </proc/${process.pid}/environ | grep -c PATH
(env -i setsid /bin/sh -c 'sleep 1; echo x >${late}' >/dev/null 2>&1 </dev/null &)
echo done`,
    )
    expect(outputOf(reply)).toBe('done')
    await new Promise((done) => setTimeout(done, 1500))
    expect(existsSync(late)).toBe(false)
  })

  test.each(['fs', 'strict'])('X8: %s guards repositories inside of the project too', async (level) => {
    const hooks = join(temp.project, 'packages', 'inner', '.git', 'hooks')
    mkdirSync(hooks, { recursive: true })
    const reply = await held(
      { level, write: ['${PROJECT_PATH}'] },
      `cd "$KIWI_PROJECT_PATH/packages/inner" && echo x >file && echo ok
echo x 2>/dev/null >.git/hooks/pre-commit && echo WROTE
mv .git other 2>/dev/null && echo MOVED
true`,
    )
    expect(outputOf(reply)).toBe('ok')
    expect(existsSync(join(hooks, 'pre-commit'))).toBe(false)
  })

  test('X8: a place that holds all of Kiwi is not given', async () => {
    const { error } = await held({ level: 'fs', write: ['~'] }, 'true')
    expect(error).toMatchObject({
      code: 'PERMISSION_DENIED',
      details: { rule: 'machine/own-files', op: 'write' },
    })
  })
})

describe('X8: level strict', () => {
  test('CMD-10: no network, no write outside, no ~/.ssh, no ptrace or kill of Kiwi, no store of Kiwi', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => {
      server.once('listening', resolve)
    })
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on a port, so its address is one
    const { port } = server.address() as AddressInfo
    const reply = await held(
      { level: 'strict' },
      `(exec 3<>/dev/tcp/127.0.0.1/${port}) 2>/dev/null && echo CONNECTED
echo x 2>/dev/null >${outside}/a && echo WROTE
cat ${temp.folder}/.ssh/id 2>/dev/null
cat "$HOME/.ssh/id" 2>/dev/null
kill -0 ${process.pid} 2>/dev/null && echo REACHED
cat /proc/${process.pid}/environ 2>/dev/null
tr '\\0' ' ' </proc/[0-9]*/cmdline 2>/dev/null | grep -c vitest
cat ${temp.config.store} ${temp.config.key} 2>/dev/null
ls "$HOME" ${temp.config.userSpace} /run 2>/dev/null | grep -v : | grep .
echo survived`,
    )
    server.close()
    // Of the home there is the place of the project, and nothing in it.
    expect(outputOf(reply).split('\n')).toEqual(['0', 'project', 'survived'])
    expect(reply.data).toMatchObject({ sandbox: { level: 'strict', mechanism: 'bubblewrap', net: 'none' } })
    const [outcome] = await temp.kiwi.store.records({ limit: 1, call_id: reply.metadata.call_id })
    expect(outcome?.body).toMatchObject({ sandbox: { level: 'strict', mechanism: 'bubblewrap' } })
  })

  test('CMD-10, X8: what is not given of the project is not written into the void: it fails', async () => {
    const lines = `mkdir -p "$KIWI_PROJECT_PATH/sub" 2>/dev/null && echo MADE
(echo x >"$KIWI_PROJECT_PATH/lost") 2>/dev/null && echo WROTE
echo x >"$HOME/scratch" && echo scratch`
    expect(outputOf(await held({ level: 'strict' }, lines))).toBe('scratch')
    mkdirSync(join(temp.project, 'out'))
    const given = { level: 'strict', write: ['${PROJECT_PATH}/out'] }
    const inside = `${lines}\necho kept >"$KIWI_PROJECT_PATH/out/kept" && echo kept`
    expect(outputOf(await held(given, inside))).toBe('scratch\nkept')
    expect(readFileSync(join(temp.project, 'out/kept'), 'utf8')).toBe('kept\n')
    const listed = { level: 'strict', read: ['${PROJECT_PATH}'] }
    expect(outputOf(await held(listed, 'ls "$KIWI_PROJECT_PATH"'))).toContain('out')
  })

  test('CMD-10: what fails is held no less, and says so', async () => {
    const { data, error, metadata } = await held({ level: 'strict' }, 'exit 3')
    expect(error?.code).toBe('TOOL_FAILED')
    expect(data).toMatchObject({ return_code: 3, sandbox: { level: 'strict' } })
    const [outcome] = await temp.kiwi.store.records({ limit: 1, call_id: metadata.call_id })
    expect(outcome?.body).toMatchObject({ code: 'TOOL_FAILED', sandbox: { level: 'strict' } })
  })

  test('X8: paths that are listed come back, to read or to write, and so does the network', async () => {
    const shelf = join(temp.folder, 'shelf')
    mkdirSync(shelf)
    writeFileSync(join(shelf, 'book'), 'a book')
    const server = createServer((socket) => socket.end('a voice')).listen(0, '127.0.0.1')
    await new Promise((resolve) => {
      server.once('listening', resolve)
    })
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on a port, so its address is one
    const { port } = server.address() as AddressInfo
    const reply = await held(
      { level: 'strict', read: ['~/shelf'], write: ['~/outside'], net: 'all' },
      `cat ${shelf}/book; echo
echo x 2>/dev/null >${shelf}/book && echo WROTE
echo kept >${outside}/kept
cat <>/dev/tcp/127.0.0.1/${port}`,
    )
    server.close()
    expect(outputOf(reply)).toBe('a book\na voice')
    expect(readFileSync(join(outside, 'kept'), 'utf8')).toBe('kept\n')
  })

  test.each(['python_runtime', 'node_runtime'])(
    'X8: a script of %s finds its files and its temporary folder',
    async (executor) => {
      const isPython = executor === 'python_runtime'
      const files = isPython
        ? {
            'main.py':
              'import tempfile, other\nwith tempfile.TemporaryFile() as f: f.write(b"x")\nprint(other.word)',
            'other.py': 'word = "found"',
          }
        : {
            'main.mjs':
              'import { word } from "./other.mjs"\nimport { mkdtempSync } from "node:fs"\nimport { tmpdir } from "node:os"\nmkdtempSync(tmpdir() + "/x")\nconsole.log(word)',
            'other.mjs': 'export const word = "found"',
          }
      const main = isPython ? 'main.py' : 'main.mjs'
      const created = await temp.create(
        `in_${executor}`,
        {
          tool_type: 'script',
          executor,
          description: 'a test',
          sandbox: { level: 'strict' },
          config: { entrypoint: main },
        },
        files,
      )
      expect(created.error).toBeNull()
      expect(outputOf(await temp.run(`in_${executor}`))).toBe('found')
    },
  )
})

describe('X8: what the policy asks for', () => {
  test('X8: a floor in agent_harness.yaml holds scripts and command lines alike, and a tool cannot go below it', async () => {
    const strict = await openTempKiwi()
    try {
      const config = join(strict.config.userSpace, 'config')
      mkdirSync(config, { recursive: true })
      writeFileSync(
        join(config, 'agent_harness.yaml'),
        'mode: direct\nrequire_signature: false\nsandbox: { level: strict, required: true }\n',
      )
      await strict.create(
        'loose',
        { ...BASH, sandbox: { level: 'off' } },
        { 'main.sh': 'ls "$HOME" | grep -v "^project$"; echo held' },
      )
      const reply = await strict.run('loose')
      expect(outputOf(reply)).toBe('held')
      expect(reply.data).toMatchObject({ sandbox: { level: 'strict', net: 'none' } })
      const line = await strict.run('shell.run', { command: 'cat /proc/self/oom_score_adj' })
      expect(line.data).toMatchObject({ output: 1000, sandbox: { level: 'strict' } })
      expect((await strict.run('shell.run', { command: 'touch made' })).error).toBeNull()
      expect(existsSync(join(strict.project, 'made'))).toBe(true)
    } finally {
      await strict.close()
    }
  })
})

describe('X8: what is shown', () => {
  test('X8: a dry run says how it would be held, and what it lets through is judged like any other path', async () => {
    await temp.create(
      'shown',
      { ...BASH, sandbox: { level: 'fs', write: ['~/outside'] } },
      { 'main.sh': 'true' },
    )
    const { data } = await temp.call('execute', {
      item_type: 'tool',
      action: 'run',
      item_id: 'shown',
      dry_run: true,
    })
    expect(data).toMatchObject({ sandbox: { level: 'fs', mechanism: 'bubblewrap' } })
    const { metadata } = await temp.run('shown')
    const records = await temp.kiwi.store.records({ limit: 2, call_id: metadata.call_id })
    const decision = records.find(({ kind }) => kind === 'decision')
    expect(field(decision?.body, 'demands')).toContain(`write ${outside}`)
  })

  test('X8: a path that is not there is said, and a manifest without a sandbox shows none', async () => {
    const { metadata } = await held({ level: 'fs', write: ['~/nowhere'] }, 'true')
    expect(metadata.warnings).toContain('the sandbox names "~/nowhere", which is not there')
    const { data } = await temp.run('hello_bash')
    expect(data).not.toHaveProperty('sandbox')
  })

  test('X8: net proxy is not built: nothing is let out, loudly, and not at all when it is required', async () => {
    const { metadata, data } = await held({ level: 'strict', net: 'proxy' }, 'true')
    expect(metadata.warnings?.join()).toContain('WEAKER SANDBOX')
    expect(data).toMatchObject({ sandbox: { net: 'none' } })
    const { error } = await held({ level: 'strict', net: 'proxy', required: true }, 'true')
    expect(error).toMatchObject({ code: 'SANDBOX_UNAVAILABLE' })
  })
})
