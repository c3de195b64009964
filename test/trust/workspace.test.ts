import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { sha256 } from '../../src/shared/json.ts'
import { expectRefusal } from '../fixtures/expect-refusal.ts'
import { field, textField } from '../fixtures/field.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { BASH, openTempKiwi, resultsOf } from '../temp-kiwi.ts'
import { bashTool, person, signAs, signByHand, stranger } from './callers.ts'

let temp: TempKiwi
afterEach(() => temp.close())

const untrusted = async (): Promise<void> => {
  temp = await openTempKiwi({ isTrusted: false })
  bashTool(temp, 'brought', 'echo brought')
}

describe('N17: a project that nobody has trusted', () => {
  test('SIG-11, N17: its items are found and shown, and do not run; the refusal says the command', async () => {
    await untrusted()
    expect(resultsOf(await temp.search('brought'))[0]).toMatchObject({ id: 'brought' })
    const loaded = await temp.load('brought')
    expect(loaded).toMatchObject({ status: 'success', data: { signature: { state: 'unsigned' } } })
    expect(loaded.metadata.warnings?.join()).toContain('nobody has trusted the project')
    const reply = await temp.run('brought')
    await expectRefusal(temp, reply, 'UNTRUSTED', temp.project)
    expect(reply.error).toMatchObject({
      hint: expect.stringContaining(`kiwi trust --project ${temp.project}`),
      details: { reason: 'project', project: temp.project },
    })
    const dry = { item_type: 'tool', action: 'run', item_id: 'brought', dry_run: true }
    expect((await temp.call('execute', dry)).error?.code).toBe('UNTRUSTED')
  })

  test('SIG-11, N17: a line that names our key is no word for it, and the refusal says both commands', async () => {
    await untrusted()
    await temp.create('own', BASH, { 'main.sh': 'echo own' })
    const [, fingerprint = ''] =
      /:signed:.*:([0-9a-f]{16})$/m.exec(
        readFileSync(join(temp.project, '.ai/tools/own/tool.yaml'), 'utf8'),
      ) ?? []
    const path = bashTool(temp, 'forged', 'echo forged')
    const text = readFileSync(path, 'utf8')
    const time = '2026-01-28T12:34:56Z'
    const hash = sha256(text)
    writeFileSync(
      path,
      `# kiwi-mcp:validated:${time}:${hash}\n# kiwi-mcp:signed:${time}:${hash}:${'A'.repeat(86)}:${fingerprint}\n${text}`,
    )
    const { error } = await temp.run('forged')
    expect(error).toMatchObject({
      code: 'CONTENT_MODIFIED',
      hint: expect.stringMatching(/kiwi sign forged.*kiwi trust --project /),
    })
    expect(error?.fix).not.toMatchObject({ arguments: { action: 'sign' } })
  })

  test('SIG-11, N17: a person trusts it, and at once it runs, with a note; another process sees it and its end', async () => {
    await untrusted()
    const other = await openTempKiwi({ beside: temp })
    try {
      expect((await other.run('brought')).error?.code).toBe('UNTRUSTED')
      const reply = await temp.kiwi.trust(temp.project, false, person(temp))
      expect(reply).toMatchObject({ status: 'success', data: { project: temp.project } })
      for (const kiwi of [temp, other]) {
        expect(await kiwi.run('brought')).toMatchObject({
          data: { output: 'brought\n' },
          metadata: { warnings: ['"brought" is not signed: runs with the least trust'] },
        })
      }
      const records = await temp.kiwi.store.records({ limit: 2, call_id: reply.metadata.call_id })
      expect(records.map(({ operation, status }) => [operation, status])).toEqual([
        ['trust', 'success'],
        ['trust', 'allow'],
      ])
      await other.kiwi.trust(temp.project, true, person(temp))
      expect((await other.run('brought')).error?.code).toBe('UNTRUSTED')
      await expect
        .poll(async () => (await temp.run('brought')).error?.code, { timeout: 10_000 })
        .toBe('UNTRUSTED')
    } finally {
      await other.close()
    }
  })

  test('N17: an agent cannot trust it, nor vouch for what it brought; a person can, for one item', async () => {
    await untrusted()
    const agent = { ...person(temp), kind: 'agent' } as const
    expect((await temp.kiwi.trust(temp.project, false, agent)).error?.code).toBe('UNTRUSTED')
    expect((await signAs(temp, 'agent', 'brought')).error?.code).toBe('UNTRUSTED')
    expect((await signAs(temp, 'agent', '*')).data).toMatchObject({
      results: [{ tool_id: 'brought', status: 'failed', code: 'UNTRUSTED' }],
    })
    expect((await signAs(temp, 'person', 'brought')).data).toMatchObject({ status: 'signed' })
    expect(await temp.run('brought')).toMatchObject({ data: { output: 'brought\n' } })
  })

  test('N17: a folder that is gone is taken off the list, before another stands in its place', async () => {
    await untrusted()
    const gone = join(temp.folder, 'gone')
    mkdirSync(gone)
    await temp.kiwi.trust(gone, false, person(temp))
    rmSync(gone, { recursive: true })
    expect((await temp.kiwi.trust(gone, false, person(temp))).error?.code).toBe('PROJECT_PATH_REQUIRED')
    expect((await temp.kiwi.trust(gone, true, person(temp))).status).toBe('success')
    expect(await temp.kiwi.store.trustedProjects()).toEqual([])
  })

  test('N17: nor does it get round it by a copy to where everything is trusted', async () => {
    await untrusted()
    const { error } = await temp.load('brought', { destination: 'user' })
    expect(error?.code).toBe('UNTRUSTED')
    const args = { item_type: 'tool', item_id: 'brought', destination: 'user' }
    expect((await temp.kiwi.call('load', args, person(temp))).status).toBe('success')
  })

  test('N17, T13: what was made here runs all the same', async () => {
    await untrusted()
    await temp.create('made_here', BASH, { 'main.sh': '#!/bin/bash\necho made' })
    expect(await temp.run('made_here')).toMatchObject({ data: { output: 'made\n' } })
    expect((await signAs(temp, 'agent', 'made_here')).data).toMatchObject({ status: 'unchanged' })
    writeFileSync(join(temp.project, '.ai/tools/made_here/main.sh'), '#!/bin/bash\necho evil')
    expect((await temp.run('made_here')).error?.code).toBe('CONTENT_MODIFIED')
    expect((await signAs(temp, 'agent', 'made_here')).error?.code).toBe('UNTRUSTED')
  })

  test('SIG-11: a line of another family that names our key is no word of ours', async () => {
    await untrusted()
    await temp.create('ours', BASH, { 'main.sh': 'true' })
    const fingerprint = textField(field((await temp.load('ours')).data, 'signature'), 'fingerprint')
    const body = '# Says hi\n# version: 1.0.0\necho hi\n'
    for (const family of ['rye', 'ryeos', 'kiwi-mcp']) {
      const line = `${family}:signed:2026-01-28T12:34:56Z:${sha256(body)}:${'A'.repeat(86)}:${fingerprint}`
      temp.write('tools/borrowed.sh', `#!/bin/bash\n# ${line}\n${body}`)
      const { error } = await temp.run('borrowed')
      expect(error?.code).toBe(family === 'kiwi-mcp' ? 'CONTENT_MODIFIED' : 'UNTRUSTED')
    }
  })

  test('N17: what was made here does not lend its word to an executor that came along', async () => {
    await untrusted()
    temp.write(
      'tools/brought_bash/tool.yaml',
      'tool_type: runtime\nexecutor: subprocess\nversion: 1.0.0\ndescription: x\nconfig: {command: bash, args: ["{entrypoint}"]}\n',
    )
    await temp.create('on_top', { ...BASH, executor: 'brought_bash' }, { 'main.sh': '#!/bin/bash\necho x' })
    expect((await temp.run('on_top')).error?.code).toBe('UNTRUSTED')
  })

  test('N17: another name for the folder is the same project, and the user space needs nobody', async () => {
    await untrusted()
    const link = join(temp.folder, 'link')
    symlinkSync(temp.project, link)
    await temp.kiwi.trust(link, false, person(temp))
    expect(await temp.run('brought')).toMatchObject({ status: 'success' })
    expect(await temp.kiwi.store.trustedProjects()).toMatchObject([
      { path: temp.project, trusted_by: 'user:me' },
    ])
    const own = join(temp.config.userSpace, 'tools/own')
    mkdirSync(own, { recursive: true })
    writeFileSync(join(own, 'tool.yaml'), 'tool_type: bash\nversion: 1.0.0\ndescription: x\n')
    writeFileSync(join(own, 'main.sh'), '#!/bin/bash\necho own')
    await temp.kiwi.trust(temp.project, true, person(temp))
    expect(await temp.run('own')).toMatchObject({ data: { output: 'own\n' } })
  })
})

describe('publishers', () => {
  const known = stranger()
  const open = async (more: object): Promise<void> => {
    const publisher = { name: 'Acme', key: known.publicKey, namespace: 'acme.*', ...more }
    temp = await openTempKiwi({ settings: { publishers: [publisher] } })
    bashTool(temp, 'acme.mail', 'echo acme')
    bashTool(temp, 'other', 'echo other')
    await signByHand(temp, 'acme.mail', known)
    await signByHand(temp, 'other', known)
  }

  test('SIG-07: a known key counts inside its namespace, and is refused outside of it', async () => {
    await open({})
    expect((await temp.load('acme.mail')).data).toMatchObject({
      signature: { state: 'signed', by: 'Acme', fingerprint: known.fingerprint },
      trust: { level: 2, name: 'publisher' },
    })
    expect(await temp.run('acme.mail')).toMatchObject({ data: { output: 'acme\n' } })
    const { error } = await temp.run('other')
    expect(error).toMatchObject({ code: 'UNTRUSTED', details: { reason: 'key_scope' } })
    temp.write('tools/acme.mail/main.sh', '#!/bin/bash\necho evil')
    expect((await temp.run('acme.mail')).error?.code).toBe('CONTENT_MODIFIED')
  })

  test('SIG-07: a revoked key is refused, an agent cannot sign over it, a person can', async () => {
    await open({ revoked: true })
    const { error } = await temp.run('acme.mail')
    expect(error).toMatchObject({ code: 'UNTRUSTED', details: { reason: 'key_revoked' } })
    expect((await signAs(temp, 'agent', 'acme.mail')).error?.code).toBe('UNTRUSTED')
    expect((await signAs(temp, 'person', 'acme.mail')).data).toMatchObject({ status: 'signed' })
    expect(await temp.run('acme.mail')).toMatchObject({ data: { output: 'acme\n' } })
  })
})

describe('where signatures are required', () => {
  test('SIG-11, R54: in proxy mode the unsigned is refused, and what sign gives runs; what is shipped runs', async () => {
    temp = await openTempKiwi()
    const path = bashTool(temp, 'unsigned', 'echo ran')
    temp.write('config/agent_harness.yaml', 'mode: proxy\n')
    const reply = await temp.run('unsigned')
    await expectRefusal(temp, reply, 'UNTRUSTED')
    expect(reply.error?.details).toMatchObject({ reason: 'unsigned' })
    const body = readFileSync(path, 'utf8')
    writeFileSync(path, `# kiwi-mcp:validated:2026-01-28T12:34:56Z:${sha256(body)}\n${body}`)
    expect((await temp.run('unsigned')).error?.details).toMatchObject({ reason: 'unsigned' })
    // An agent is not handed the way round what it was refused.
    expect(reply.error?.fix).toMatchObject({ call: 'help' })
    expect(reply.error?.hint).toMatch(/^Ask the person .*kiwi sign unsigned$/)
    // What a file does not list is closed to an agent: neither its writing nor its word opens it.
    expect((await signAs(temp, 'agent', 'unsigned')).error?.code).toBe('PERMISSION_DENIED')
    expect((await signAs(temp, 'person', 'unsigned')).data).toMatchObject({ status: 'signed' })
    expect(await temp.run('unsigned')).toMatchObject({ data: { output: 'ran\n' } })
  })
})
