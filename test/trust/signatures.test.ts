import { readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sha256 } from '../../src/shared/json.ts'
import { stripSignatures, withSignature } from '../../src/spaces/signature-line.ts'
import { expectRefusal } from '../fixtures/expect-refusal.ts'
import { field, listField } from '../fixtures/field.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { BASH, openTempKiwi } from '../temp-kiwi.ts'
import { bashTool, ownSigner, person, signAs, signByHand, stranger } from './callers.ts'

let temp: TempKiwi
beforeAll(async () => {
  temp = await openTempKiwi()
})
afterAll(() => temp.close())

const at = (path: string): string => join(temp.project, '.ai', path)
const text = (path: string): string => readFileSync(at(path), 'utf8')

describe('sign', () => {
  test('L5: gives the line, the hash and the path; again it changes nothing', async () => {
    const path = bashTool(temp, 'signed_one', 'echo one')
    const reply = await signAs(temp, 'agent', 'signed_one')
    const [line = ''] = text('tools/signed_one/tool.yaml').split('\n')
    expect(reply.data).toMatchObject({
      tool_id: 'signed_one',
      action: 'sign',
      status: 'signed',
      signature: line,
      hash: sha256(stripSignatures(readFileSync(path, 'utf8'), path)),
      path,
      warnings: [],
    })
    expect(line).toMatch(/^# kiwi-mcp:validated:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ:[0-9a-f]{64}$/)
    const [before, stamp] = [readFileSync(path), statSync(path).mtimeMs]
    expect((await signAs(temp, 'agent', 'signed_one')).data).toMatchObject({
      status: 'unchanged',
      signature: line,
    })
    expect([readFileSync(path), statSync(path).mtimeMs]).toEqual([before, stamp])
    expect(await temp.run('signed_one')).toMatchObject({ data: { output: 'one\n' } })
  })

  test('L5: a pattern signs each by itself, and one that cannot be signed keeps no other from it', async () => {
    for (let n = 0; n < 100; n++) bashTool(temp, `many_${n}`, 'true')
    temp.write('tools/many_broken/tool.yaml', 'tool_type: script\nexecutor: bash_runtime\n')
    const reply = await signAs(temp, 'agent', 'many_*')
    const results = listField(reply.data, 'results')
    expect(results.filter((result) => field(result, 'status') === 'signed')).toHaveLength(100)
    expect(results.filter((result) => field(result, 'status') === 'failed')).toEqual([
      expect.objectContaining({ tool_id: 'many_broken', code: 'INVALID_MANIFEST' }),
    ])
    expect((await signAs(temp, 'agent', 'none_such_*')).error?.code).toBe('NOT_FOUND')
  })

  test.each(['description', 'version'])(
    'L3: without %s an item runs and is not signed, and the field is named',
    async (name) => {
      const id = `without_${name}`
      temp.write(`tools/${id}/main.sh`, '#!/bin/bash\necho runs')
      const manifest = `tool_type: script\nexecutor: bash_runtime\nversion: 1.0.0\ndescription: x\n`
      temp.write(`tools/${id}/tool.yaml`, manifest.replace(new RegExp(`^${name}:.*\n`, 'm'), ''))
      expect(await temp.run(id)).toMatchObject({ data: { output: 'runs\n' } })
      const { error } = await signAs(temp, 'person', id)
      expect(error).toMatchObject({ code: 'INVALID_MANIFEST', details: { invalid: [{ name }] } })
    },
  )

  test('a script carries its own lines, after the shebang, and a dry run writes nothing', async () => {
    const code =
      '#!/usr/bin/env bash\n# Says hi\n\n# version: 1.0.0\n# tool_type: script\n# executor: bash_runtime\necho hi\n'
    temp.write('tools/plain_script.sh', code)
    const dry = await signAs(temp, 'agent', 'plain_script', { dry_run: true })
    expect([dry.status, text('tools/plain_script.sh')]).toEqual(['dry_run', code])
    expect((await signAs(temp, 'person', 'plain_script')).data).toMatchObject({ status: 'signed' })
    expect(text('tools/plain_script.sh').split('\n').slice(0, 2)).toEqual([
      '#!/usr/bin/env bash',
      expect.stringContaining('# kiwi-mcp:validated:'),
    ])
    expect(await temp.run('plain_script')).toMatchObject({ data: { output: 'hi\n' } })
    expect((await temp.load('plain_script')).data).toMatchObject({ trust: { level: 3 } })
    writeFileSync(at('tools/plain_script.sh'), text('tools/plain_script.sh').replace('echo hi', 'echo ho'))
    expect((await temp.run('plain_script')).error?.code).toBe('CONTENT_MODIFIED')
  })

  test('N12: a JSON manifest has no lines: its signature is in the store, and a change is seen all the same', async () => {
    const manifest = { tool_type: 'api', version: '1.0.0', description: 'x', executor: 'http_client' }
    const config = { method: 'GET', url: 'http://127.0.0.1:9/' }
    const path = temp.write('tools/jsonic.json', JSON.stringify({ ...manifest, config }))
    expect((await signAs(temp, 'person', 'jsonic')).data).toMatchObject({ status: 'signed', signature: null })
    expect((await temp.load('jsonic')).data).toMatchObject({ signature: { state: 'signed', by: 'person' } })
    expect((await signAs(temp, 'person', 'jsonic')).data).toMatchObject({ status: 'unchanged' })
    writeFileSync(path, JSON.stringify({ ...manifest, config: { ...config, method: 'POST' } }))
    expect((await temp.run('jsonic')).error?.code).toBe('CONTENT_MODIFIED')
  })

  test('what is shipped is not signed', async () => {
    expect((await signAs(temp, 'person', 'hello_bash')).error?.code).toBe('BUILTIN_PROTECTED')
  })

  test('an unknown parameter of sign is named', async () => {
    const { error } = await signAs(temp, 'agent', 'signed_one', { parameters: { colour: 'red' } })
    expect(error).toMatchObject({ code: 'INVALID_PARAMETERS', message: expect.stringContaining('colour') })
  })
})

describe('what was signed and is something else now', () => {
  test('L4, R40: one byte more is refused, the person is to be asked for sign or update, and sign mends it', async () => {
    const path = bashTool(temp, 'touched', 'echo a')
    await signAs(temp, 'agent', 'touched')
    writeFileSync(path, `${readFileSync(path, 'utf8')}\n`)
    const reply = await temp.run('touched')
    await expectRefusal(temp, reply, 'CONTENT_MODIFIED')
    expect(reply.error?.hint).toMatch(/^Ask the person to .*kiwi sign touched.*"update"/)
    // A ready call would be the way round the signature.
    expect(reply.error?.fix).toMatchObject({ call: 'help' })
    expect((await signAs(temp, 'person', 'touched')).data).toMatchObject({ status: 'signed' })
    expect(await temp.run('touched')).toMatchObject({ data: { output: 'a\n' } })
  })

  test('SIG-04: the manifest is whole and a file beside it is not', async () => {
    bashTool(temp, 'bundle', '. ./lib.sh')
    temp.write('tools/bundle/lib.sh', 'echo lib')
    await signAs(temp, 'person', 'bundle')
    expect(await temp.run('bundle')).toMatchObject({ data: { output: 'lib\n' } })
    temp.write('tools/bundle/lib.sh', 'echo evil')
    await expectRefusal(temp, await temp.run('bundle'), 'CONTENT_MODIFIED')
    temp.write('tools/bundle/lib.sh', 'echo lib')
    temp.write('tools/bundle/more.sh', '')
    await expectRefusal(temp, await temp.run('bundle'), 'CONTENT_MODIFIED')
  })

  test('SIG-04: another executor under the same text is another statement', async () => {
    temp.write(
      'tools/own_bash/tool.yaml',
      'tool_type: runtime\nexecutor: subprocess\nversion: 1.0.0\ndescription: x\nconfig: {command: bash, args: ["{entrypoint}"]}\n',
    )
    temp.write(
      'tools/chained/tool.yaml',
      'tool_type: script\nexecutor: own_bash\nversion: 1.0.0\ndescription: x\n',
    )
    temp.write('tools/chained/main.sh', '#!/bin/bash\necho chained')
    await signAs(temp, 'person', 'chained')
    const signed = text('tools/chained/tool.yaml')
    const forged = stripSignatures(signed, 'tool.yaml').replace('own_bash', 'bash_runtime')
    const lines = signed.split('\n').slice(0, 2)
    const hash = sha256(forged)
    writeFileSync(
      at('tools/chained/tool.yaml'),
      withSignature(
        forged,
        lines.map((line) => line.replace(/[0-9a-f]{64}/, hash)),
        'tool.yaml',
      ),
    )
    await expectRefusal(temp, await temp.run('chained'), 'CONTENT_MODIFIED')
  })

  test('SIG-02: a hash that was computed again is no signature: with our line refused, without it least trust', async () => {
    const path = bashTool(temp, 'recomputed', 'echo x', 'category: a\n')
    await signAs(temp, 'person', 'recomputed')
    const evil = stripSignatures(readFileSync(path, 'utf8'), path).replace('category: a', 'category: b')
    const lines = readFileSync(path, 'utf8').split('\n').slice(0, 2)
    const again = lines.map((line) => line.replace(/[0-9a-f]{64}/, sha256(evil)))
    writeFileSync(path, withSignature(evil, again, path))
    await expectRefusal(temp, await temp.run('recomputed'), 'CONTENT_MODIFIED')
    writeFileSync(path, withSignature(evil, again.slice(0, 1), path))
    expect((await temp.load('recomputed')).data).toMatchObject({
      signature: { state: 'validated', by: null },
      trust: { level: 1, name: 'local' },
    })
  })

  test('SIG-01: code on the signature line is refused', async () => {
    const path = bashTool(temp, 'on_the_line', 'echo x')
    const body = readFileSync(path, 'utf8')
    writeFileSync(path, `x: 1 # kiwi-mcp:validated:2026-01-28T12:34:56Z:${sha256(body)}\n${body}`)
    const reply = await temp.run('on_the_line')
    await expectRefusal(temp, reply, 'CONTENT_MODIFIED')
    expect(reply.error?.details).toMatchObject({ reason: 'text_on_signature_line' })
  })

  test('SIG-12: a signature from the future is refused beyond five minutes', async () => {
    bashTool(temp, 'early', 'echo early')
    await signAs(temp, 'agent', 'early')
    const soon = (minutes: number): string =>
      new Date(Date.now() + minutes * 60_000).toISOString().replace(/\.\d+/, '')
    await signByHand(temp, 'early', ownSigner(temp), soon(3))
    expect(await temp.run('early')).toMatchObject({ data: { output: 'early\n' } })
    await signByHand(temp, 'early', ownSigner(temp), soon(10 * 365 * 24 * 60))
    const reply = await temp.run('early')
    await expectRefusal(temp, reply, 'UNTRUSTED')
    expect(reply.error?.details).toMatchObject({ reason: 'time_invalid' })
    expect((await signAs(temp, 'person', 'early')).data).toMatchObject({ status: 'signed' })
    expect(await temp.run('early')).toMatchObject({ data: { output: 'early\n' } })
  })

  test('what was checked is what runs: a file that is exchanged afterwards is never started', async () => {
    bashTool(temp, 'swapped', 'echo good')
    const path = at('tools/swapped/main.sh')
    utimesSync(path, 1e9, 1e9)
    await signAs(temp, 'person', 'swapped')
    const dry = await temp.call('execute', {
      item_type: 'tool',
      action: 'run',
      item_id: 'swapped',
      dry_run: true,
    })
    expect(dry.data).toMatchObject({ trust: { level: 3, name: 'person' } })
    // The plan is kept. The file changes so that no stamp shows it: same length, same times, same inode.
    writeFileSync(path, '#!/bin/bash\necho evil')
    utimesSync(path, 1e9, 1e9)
    const { data, error } = await temp.run('swapped')
    expect([data, error?.code]).toEqual([null, 'CONFLICT'])
  })
})

describe('whose word it is', () => {
  test('T13, N12: what an agent makes or signs is level 1, what a person signs is level 3', async () => {
    await temp.create('by_agent', BASH, { 'main.sh': '#!/bin/bash\necho x' })
    expect((await temp.load('by_agent')).data).toMatchObject({
      signature: { state: 'signed', by: 'agent', fingerprint: ownSigner(temp).fingerprint },
      trust: { level: 1, name: 'local' },
    })
    expect((await signAs(temp, 'person', 'by_agent')).data).toMatchObject({ status: 'signed' })
    expect((await temp.load('by_agent')).data).toMatchObject({
      signature: { state: 'signed', by: 'person' },
      trust: {
        level: 3,
        name: 'person',
        links: [{ tool_id: 'by_agent', level: 3 }, { level: 4 }, { level: 4 }],
      },
    })
    expect((await signAs(temp, 'agent', 'by_agent')).data).toMatchObject({ status: 'unchanged' })
    const created = await temp.kiwi.call(
      'execute',
      {
        item_type: 'tool',
        action: 'create',
        item_id: 'by_person',
        parameters: { manifest: BASH, files: { 'main.sh': '#!/bin/bash\ntrue' } },
      },
      person(temp),
    )
    expect(created.status).toBe('success')
    expect((await temp.load('by_person')).data).toMatchObject({ trust: { level: 3 } })
  })

  test('N12: a chain is trusted as far as its weakest link', async () => {
    temp.write(
      'tools/weak_bash/tool.yaml',
      'tool_type: runtime\nexecutor: subprocess\nversion: 1.0.0\ndescription: x\nconfig: {command: bash, args: ["{entrypoint}"]}\n',
    )
    temp.write(
      'tools/strong/tool.yaml',
      'tool_type: script\nexecutor: weak_bash\nversion: 1.0.0\ndescription: x\n',
    )
    temp.write('tools/strong/main.sh', '#!/bin/bash\necho strong')
    await signAs(temp, 'person', 'strong')
    expect((await temp.load('strong')).data).toMatchObject({
      trust: { level: 1, links: [{ level: 3 }, { tool_id: 'weak_bash', level: 1 }, { level: 4 }] },
    })
    const reply = await temp.run('strong')
    expect(reply.metadata.warnings).toEqual(['"weak_bash" is not signed: runs with the least trust'])
    const records = await temp.kiwi.store.records({ limit: 2, call_id: reply.metadata.call_id })
    expect(records.find(({ kind }) => kind === 'decision')?.body).toMatchObject({ trust: 1 })
  })

  test('R54: without a line it runs with a note; with a line of old it runs without one', async () => {
    const path = bashTool(temp, 'plain', 'echo plain')
    expect((await temp.run('plain')).metadata.warnings).toEqual([
      '"plain" is not signed: runs with the least trust',
    ])
    const body = readFileSync(path, 'utf8')
    writeFileSync(path, `# kiwi-mcp:validated:2026-01-28T12:34:56Z:${sha256(body)}\n${body}`)
    const reply = await temp.run('plain')
    expect([reply.status, reply.metadata.warnings]).toEqual(['success', undefined])
  })

  test('S5: a copy stays signed, in the other space too', async () => {
    bashTool(temp, 'carried', 'echo carried')
    await signAs(temp, 'person', 'carried')
    expect((await temp.load('carried', { destination: 'user' })).status).toBe('success')
    expect((await temp.load('carried', { source: 'user' })).data).toMatchObject({
      source: 'user',
      signature: { state: 'signed', by: 'person' },
      trust: { level: 3 },
    })
  })

  test('a signature of a key that nobody knows says nothing for or against an item', async () => {
    bashTool(temp, 'foreign', 'echo foreign')
    const unknown = stranger()
    await signByHand(temp, 'foreign', unknown)
    expect(await temp.run('foreign')).toMatchObject({ data: { output: 'foreign\n' } })
    expect((await temp.load('foreign')).data).toMatchObject({
      signature: { state: 'validated', by: null, fingerprint: unknown.fingerprint },
      trust: { level: 1 },
    })
  })
})
