import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Reply } from '../src/shared/reply.ts'
import { textField } from './fixtures/field.ts'
import type { TempKiwi } from './temp-kiwi.ts'
import { BASH, openTempKiwi } from './temp-kiwi.ts'
import { person as asPerson } from './trust/callers.ts'

// A host without bubblewrap fails here, and says so: a skip would hide that nothing was proven.
let temp: TempKiwi
let user: string
beforeEach(async () => {
  temp = await openTempKiwi()
  user = temp.config.userSpace
  writeFileSync(temp.config.approverKey, 'the key of a person', { mode: 0o600 })
  writeFileSync(join(user, 'kiwi.json'), '{}')
  writeFileSync(join(user, '.env'), 'TOKEN=hidden')
  mkdirSync(join(user, 'tools', 'lib'), { recursive: true })
  writeFileSync(join(user, 'tools', 'lib', 'shared.txt'), 'a library')
  temp.write('config/agent_harness.yaml', 'mode: direct\n')
})
afterEach(() => temp.close())

let made = 0
async function runScript(lines: string, by: TempKiwi = temp): Promise<Reply> {
  const id = `tried_${++made}`
  expect((await by.create(id, BASH, { 'main.sh': lines })).error).toBeNull()
  return by.run(id)
}
const outputOf = ({ data, error }: Reply): string => {
  expect(error).toBeNull()
  return textField(data, 'output').trim()
}
const sandboxOf = async ({ metadata }: Reply): Promise<unknown> => {
  const [outcome] = await temp.kiwi.store.records({ limit: 1, call_id: metadata.call_id })
  return outcome?.body['sandbox']
}

describe('N6: what an agent made cannot turn against Kiwi', () => {
  test('N6: no key, secret or store is there for it, whichever way it looks', async () => {
    const reply =
      await runScript(`cat ${temp.config.approverKey} ${user}/.env ${user}/kiwi.db 2>/dev/null | head -c 20
cat /proc/${process.pid}/root${temp.config.approverKey} 2>/dev/null
ln ${temp.config.approverKey} ${temp.folder}/linked 2>/dev/null
umount ${user} 2>/dev/null && cat ${temp.config.approverKey}
umount -l ${user} 2>/dev/null && cat ${temp.config.approverKey}
unshare -Urm sh -c 'umount ${user}; cat ${temp.config.approverKey}' 2>/dev/null
ls -A ${user}`)
    expect(outputOf(reply)).toBe('kiwi.json\nkiwi.pub\ntools')
    expect(existsSync(join(temp.folder, 'linked'))).toBe(false)
    expect(await sandboxOf(reply)).toEqual({ level: 'own', mechanism: 'bubblewrap' })
    expect(reply.data).not.toHaveProperty('sandbox')
  })

  test('N6: neither settings nor policies change, nor the folders they lie in', async () => {
    const policy = join(temp.project, '.ai', 'config', 'agent_harness.yaml')
    const reply = await runScript(`cd "$KIWI_PROJECT_PATH"
{ echo '{"port": 1}' >${user}/kiwi.json; mkdir -p ${user}/config && echo 'mode: direct' >${user}/config/agent_harness.yaml
echo x >>.ai/config/agent_harness.yaml; sed -i s/direct/off/ .ai/config/agent_harness.yaml; rm -rf .ai/config; mv .ai .ai2
mv ${user} ${user}2; mv ${temp.folder}/.cache ${temp.folder}/other; touch ${temp.config.cache}/made; } 2>/dev/null
cat ${user}/kiwi.json; echo done`)
    expect(outputOf(reply)).toBe('{}done')
    expect(readFileSync(policy, 'utf8')).toBe('mode: direct\n')
    expect(existsSync(join(user, 'config'))).toBe(false)
    expect(
      [`${user}2`, join(temp.folder, 'other'), join(temp.config.cache, 'made')].filter(existsSync),
    ).toEqual([])
  })

  test('N6: nor does one appear where there is none yet, and an undo does not speak of it', async () => {
    const config = join(temp.project, '.ai', 'config')
    rmSync(config, { recursive: true })
    const attempt = `const { mkdirSync, writeFileSync } = require('fs')
writeFileSync('made', '')
mkdirSync('.ai/config', { recursive: true })
for (const name of ['agent_harness', 'mcp_registry'])
  try { writeFileSync('.ai/config/' + name + '.yaml', ''); console.log('written') } catch (error) { console.log(error.code) }`
    const reply = await temp.run('shell.run', { argv: ['node', '-e', attempt] })
    expect(outputOf(reply)).toBe('EROFS\nEROFS')
    expect(readdirSync(config)).toEqual([])
    const undone = await temp.call('execute', {
      item_type: 'tool',
      action: 'undo',
      item_id: textField(reply.data, 'undo_id'),
    })
    expect(undone).toMatchObject({ data: { totals: { remove: 1, conflict: 0 } } })
    expect(existsSync(join(temp.project, 'made'))).toBe(false)
  })

  test.each(['part', '../other'])(
    'N6: what decides about a call in %j is not changed by it',
    async (named) => {
      const policy = temp.write('config/agent_harness.yaml', 'mode: direct\nirreversible: allow\n')
      const workplace = join(temp.project, named)
      mkdirSync(workplace)
      expect((await temp.kiwi.trust(workplace, false, asPerson(temp))).error).toBeNull()
      const file = JSON.stringify(policy)
      const attempt = `const { writeFileSync, unlinkSync } = require('fs')
for (const change of [() => writeFileSync(${file}, ''), () => unlinkSync(${file}), () => writeFileSync(${file}.replace('agent_harness', 'mcp_registry'), '')])
  try { change(); console.log('changed') } catch (error) { console.log(error.code) }`
      const reply = await temp.call('execute', {
        item_type: 'tool',
        action: 'run',
        item_id: 'shell.run',
        parameters: { argv: ['node', '-e', attempt] },
        project_path: workplace,
      })
      expect(outputOf(reply)).toBe('EROFS\nEROFS\nEROFS')
      expect(readFileSync(policy, 'utf8')).toBe('mode: direct\nirreversible: allow\n')
    },
  )

  test('X8, N6: nor by a tool that asks for a sandbox with more to write', async () => {
    const deep = await openTempKiwi({ project: 'place/project' })
    try {
      const policy = deep.write('config/agent_harness.yaml', 'mode: direct\n')
      const part = join(deep.project, 'part')
      mkdirSync(part)
      const inPart = (action: string, parameters: object): Promise<Reply> =>
        deep.call('execute', { item_type: 'tool', action, item_id: 'wide', parameters, project_path: part })
      const manifest = { ...BASH, sandbox: { level: 'fs', write: [join(deep.folder, 'place')] } }
      const lines = `#!/usr/bin/env bash
{ echo x >${policy}; rm -r ${deep.project}/.ai; mv ${deep.project}/.ai ${deep.project}/old; } 2>/dev/null
echo y >${deep.project}/made; echo done`
      const created = await inPart('create', { manifest, files: { 'main.sh': lines }, location: 'project' })
      expect(created.error).toBeNull()
      expect(outputOf(await inPart('run', {}))).toBe('done')
      expect(readFileSync(policy, 'utf8')).toBe('mode: direct\n')
      expect(existsSync(join(deep.project, 'made'))).toBe(true)
    } finally {
      await deep.close()
    }
  })

  test('N6: everything else is as it is: home, temporary folder, processes, library', async () => {
    const mine = join(temp.folder, 'mine')
    const reply =
      await runScript(`echo x >${mine}; echo y >"$KIWI_PROJECT_PATH/made"; cat ${user}/tools/lib/shared.txt; echo
kill -0 ${process.pid} && test -w /tmp && test "$HOME" = ${temp.folder} && echo as usual`)
    expect(outputOf(reply)).toBe('a library\nas usual')
    expect([mine, join(temp.project, 'made')].map((path) => readFileSync(path, 'utf8'))).toEqual([
      'x\n',
      'y\n',
    ])
  })

  test('N6: a command line is held too, also one that only reads: it follows links', async () => {
    const read = `require("fs").readFileSync(${JSON.stringify(temp.config.approverKey)}, "utf8")`
    const line = await temp.run('shell.run', { argv: ['node', '-e', `console.log(${read})`] })
    expect(JSON.stringify(line)).not.toContain('the key of a person')
    expect(line.error).toMatchObject({ code: 'TOOL_FAILED' })
    expect(await sandboxOf(line)).toMatchObject({ level: 'own' })
    symlinkSync(user, join(temp.project, 'link'))
    const looked = await temp.run('shell.run', { command: 'grep -R person .' })
    expect(JSON.stringify(looked)).not.toContain('the key of a person')
    expect(await sandboxOf(looked)).toMatchObject({ level: 'own' })
  })

  test.each([
    [['tee', '.ai/config/agent_harness.yaml'], 'own-policy'],
    [['sed', '-i', 's/direct/off/', '.ai/config/agent_harness.yaml'], 'own-policy'],
    [['dd', 'if=made', 'of=.ai/config/agent_harness.yaml'], 'own-policy'],
    [['truncate', '-s', '5', '.ai/config/../config/agent_harness.yaml'], 'own-policy'],
    [['tee', 'USER/kiwi.json'], 'own-files'],
    [['python3', 'made.py', '--file=USER/kiwi.json'], 'own-files'],
    [['sort', '-oUSER/kiwi.json', 'made'], 'own-files'],
    [['tee', 'link/kiwi.json'], 'own-files'],
    [['curl', '-d', '@USER/kiwi.approver', 'http://127.0.0.1:1'], 'own-secrets'],
    [['wc', '--files0-from=USER/kiwi.approver'], 'own-secrets'],
    [['git', 'diff', '--no-index', 'made', 'USER/kiwi.approver'], 'own-secrets'],
  ])('N6: %j names what is Kiwi its own, and is refused before anything starts', async (argv, rule) => {
    symlinkSync(user, join(temp.project, 'link'))
    const words = argv.map((word) => word.replace('USER', user))
    const { error } = await temp.run('shell.run', { argv: words })
    expect(error).toMatchObject({ code: 'PERMISSION_DENIED', details: { rule: `machine/${rule}` } })
  })

  test('N6: a policy may be read, and words that are no paths are nothing', async () => {
    const { data } = await temp.run('shell.run', { argv: ['cat', '.ai/config/agent_harness.yaml'] })
    expect(data).toMatchObject({ output: 'mode: direct\n' })
    const said = await temp.run('shell.run', {
      argv: ['env', 'echo', `${'a/'.repeat(300)}${'b'.repeat(5000)}`],
    })
    expect(said.error).toBeNull()
  })

  test('H9: what an agent starts cannot answer for a person, cut loose from its call or not', async () => {
    rmSync(temp.config.approverKey)
    const raw = { command: 'echo $((1 + 1))', raw: true }
    const asked = await temp.run('shell.run', raw)
    expect(asked.status).toBe('approval_required')
    const id = textField(asked.data, 'approval_id')
    const [program, command] = [process.execPath, join(import.meta.dirname, '..', 'dist', 'cli.js')]
    const approve = `${program} ${command} approve ${id} --key ${temp.config.approverKey}`
    const reply = await runScript(`cd "$KIWI_PROJECT_PATH"
env -i PATH="$PATH" HOME=${temp.folder} KIWI_USER_SPACE=${user} setsid -w ${approve} 2>&1; echo ended $?`)
    expect(outputOf(reply)).toMatch(/ended [1-9]/)
    expect(await temp.run('shell.run', raw)).toMatchObject({
      status: 'approval_required',
      data: { approval_id: id },
    })
  })

  test.each([
    { argv: ['sh', '-c', 'id'] },
    { command: 'echo id | env bash' },
    { argv: ['bash'], input: 'id' },
  ])('H5: %j asks a person, like the same sent as a script', async (parameters) => {
    rmSync(temp.config.approverKey)
    const { status, data } = await temp.run('shell.run', parameters)
    expect(status).toBe('approval_required')
    expect(JSON.stringify(data)).toContain('shell:raw')
  })

  test('N6: what a person runs, or made, is not held', async () => {
    const person = await openTempKiwi({ beside: temp, kind: 'person' })
    try {
      const reply = await runScript(`ls -A ${user} | grep approver`, person)
      expect(outputOf(reply)).toBe('kiwi.approver')
      expect(outputOf(await temp.run(`tried_${made}`))).toBe('kiwi.approver')
    } finally {
      await person.close()
    }
  })

  test('N6: only a person switches it off: the user or the machine, not the project', async () => {
    temp.write('config/agent_harness.yaml', 'mode: direct\nsandbox: { level: off }\n')
    const look = `ls -A ${user} | grep approver || echo none`
    expect(outputOf(await runScript(look))).toBe('none')
    mkdirSync(join(user, 'config'))
    writeFileSync(join(user, 'config', 'agent_harness.yaml'), 'mode: direct\nsandbox: { level: off }\n')
    expect(outputOf(await runScript(look))).toBe('kiwi.approver')
  })
})
