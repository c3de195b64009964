import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sha256 } from '../../src/shared/json.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { BASH, openTempKiwi } from '../temp-kiwi.ts'
import { bashTool, person, signAs, signByHand, stranger } from './callers.ts'

let temp: TempKiwi
beforeAll(async () => {
  temp = await openTempKiwi()
})
afterAll(() => temp.close())

describe('every form of item', () => {
  test.each([
    ['a TOML manifest', 'tool', 'tools/toml_one.toml', /^# kiwi-mcp:validated:/],
    [
      'a directive',
      'directive',
      'directives/guide.md',
      /^<!-- kiwi-mcp:validated:.* -->\n<!-- kiwi-mcp:signed:/,
    ],
    ['a piece of knowledge', 'knowledge', 'knowledge/fact.md', /^<!-- kiwi-mcp:validated:/],
    ['a script in JavaScript', 'tool', 'tools/js_one.mjs', /^\/\/ kiwi-mcp:validated:/],
    ['a skill', 'directive', 'directives/skilled/SKILL.md', /^<!-- kiwi-mcp:validated:/],
  ])('L4, L5: %s carries its lines in its own comments', async (_, itemType, path, lines) => {
    const file = temp.write(path, TEXTS[path] ?? '')
    const [, id = ''] = /([^/]+?)(?:\/SKILL)?\.\w+$/.exec(path) ?? []
    const args = { item_type: itemType, action: 'sign', item_id: id }
    expect(await temp.kiwi.call('execute', args, person(temp))).toMatchObject({
      error: null,
      data: { status: 'signed', path: file },
    })
    expect(readFileSync(file, 'utf8')).toMatch(lines)
    const signature = { state: 'signed', by: 'person' }
    expect((await temp.load(id, { item_type: itemType })).data).toMatchObject({ signature })
    expect((await temp.kiwi.call('execute', args, person(temp))).data).toMatchObject({ status: 'unchanged' })
    writeFileSync(file, `${readFileSync(file, 'utf8')}\n`)
    expect((await temp.load(id, { item_type: itemType })).data).toMatchObject({
      signature: { state: 'unverified' },
    })
  })

  test.each([
    ['a file with the text of its manifest', 'other.txt'],
    ['a line of another family', null],
  ])('SIG-04: %s is seen when it comes later', async (_, added) => {
    const id = `grown_${added === null ? 'line' : 'file'}`
    const path = bashTool(temp, id, 'echo 1')
    await signAs(temp, 'person', id)
    expect((await temp.run(id)).status).toBe('success')
    const [first, second, ...rest] = readFileSync(path, 'utf8').split('\n')
    if (added === null) writeFileSync(path, [first, second, '# rye:unsigned', ...rest].join('\n'))
    else temp.write(`tools/${id}/${added}`, rest.join('\n'))
    expect((await temp.run(id)).error).toMatchObject({ code: 'CONTENT_MODIFIED' })
    expect((await signAs(temp, 'person', id)).data).toMatchObject({ status: 'signed' })
    expect(readFileSync(path, 'utf8')).not.toContain('rye:unsigned')
    expect((await temp.run(id)).status).toBe('success')
  })

  test('SIG-04: the content of a knowledge folder is signed with it, and stays so in the registry', async () => {
    const more = { item_type: 'knowledge' }
    temp.write(
      'tools/advice/tool.yaml',
      'tool_id: advice\ntool_type: knowledge\nversion: 1.0.0\ncategory: c\ndescription: advice\nname: Advice\nconfig: {entry_type: reference}\n',
    )
    temp.write('tools/advice/content.md', 'good advice\n')
    expect((await signAs(temp, 'person', 'advice', more)).data).toMatchObject({ status: 'signed' })
    const publish = { ...more, action: 'publish', item_id: 'advice' }
    expect((await temp.kiwi.call('execute', publish, person(temp))).error).toBeNull()
    const signature = { state: 'signed', by: 'person' }
    for (const source of ['project', 'registry'])
      expect((await temp.load('advice', { ...more, source })).data).toMatchObject({ signature })
    temp.write('tools/advice/content.md', 'bad advice\n')
    expect((await temp.load('advice', { ...more, source: 'project' })).data).toMatchObject({
      signature: { state: 'unverified' },
    })
  })

  test('L4: knowledge of old loses the hash in its front matter when it is signed', async () => {
    const hash = sha256('Text.').slice(0, 12)
    const head = '---\nid: aged\ntitle: Aged\ndescription: x\nversion: 1.0.0\n'
    const old = `validated_at: 2026-01-20T00:00:00Z\ncontent_hash: ${hash}\n`
    const file = temp.write('knowledge/aged.md', `${head}${old}---\nText.\n`)
    const load = { item_type: 'knowledge' }
    expect((await temp.load('aged', load)).data).toMatchObject({ signature: { state: 'validated' } })
    expect((await signAs(temp, 'agent', 'aged', load)).data).toMatchObject({ status: 'signed' })
    expect(readFileSync(file, 'utf8')).toMatch(
      /-->\n---\nid: aged\ntitle: Aged\ndescription: x\nversion: 1.0.0\n---\nText.\n$/,
    )
    expect((await temp.load('aged', load)).data).toMatchObject({
      signature: { state: 'signed', by: 'agent' },
    })
  })

  test('L4: a script in JavaScript that was signed with a # of old runs, and signing replaces the line', async () => {
    const body =
      '/**\n * Says.\n * @version 1.0.0\n */\nconsole.log(new Error("x").stack.match(/old_js.js:(\\d+)/)[1])\n'
    const mark = `# kiwi-mcp:validated:2026-01-20T00:00:00Z:${sha256(body).slice(0, 12)}`
    for (const head of ['', '#!/usr/bin/env node\n']) {
      const file = temp.write('tools/old_js.js', `${head}${mark}\n${body}`)
      const line = head === '' ? 6 : 7
      expect(await temp.run('old_js')).toMatchObject({ error: null, data: { output: line } })
      expect(await signAs(temp, 'person', 'old_js')).toMatchObject({
        error: null,
        data: { status: 'signed' },
      })
      expect(readFileSync(file, 'utf8')).toMatch(
        /^(?:#!.*\n)?\/\/ kiwi-mcp:validated:.*\n\/\/ kiwi-mcp:signed:.*\n\/\*\*/,
      )
      expect(await temp.run('old_js')).toMatchObject({ status: 'success' })
    }
  })

  test('N12: a version of the registry keeps its text, and a signature of its own in the store', async () => {
    await temp.create('row', BASH, { 'main.sh': '#!/bin/bash\necho row' }, 'registry')
    expect((await temp.load('row')).data).toMatchObject({ signature: { state: 'signed', by: 'agent' } })
    expect((await signAs(temp, 'person', 'row')).data).toMatchObject({ status: 'signed', path: null })
    expect((await temp.load('row')).data).toMatchObject({ trust: { level: 3 } })
    expect(await temp.run('row')).toMatchObject({ data: { output: 'row\n' } })
  })

  test('L5: a pattern may be of categories and of the user space, and names what cannot be read', async () => {
    const own = join(temp.config.userSpace, 'tools/web/mine/tool.yaml')
    mkdirSync(dirname(own), { recursive: true })
    writeFileSync(own, 'tool_type: bash\nversion: 1.0.0\ndescription: x\n')
    writeFileSync(join(dirname(own), 'main.sh'), '#!/bin/bash\ntrue')
    mkdirSync(join(temp.config.userSpace, 'tools/web/torn'))
    writeFileSync(join(temp.config.userSpace, 'tools/web/torn/tool.yaml'), 'tool_type: [')
    const parameters = { location: 'user' }
    expect((await signAs(temp, 'agent', 'web/*', { parameters })).data).toMatchObject({
      output: '1 signed, 0 unchanged, 1 failed',
      results: [
        { tool_id: 'mine', status: 'signed' },
        { status: 'failed', error: expect.stringContaining('torn') },
      ],
    })
    const registry = await signAs(temp, 'agent', '*', { parameters: { location: 'registry' } })
    expect(registry.error?.code).toBe('PROJECT_PATH_REQUIRED')
    const elsewhere = { parameters: { location: 'user', category: 'other' } }
    expect((await signAs(temp, 'agent', '*', elsewhere)).error?.code).toBe('NOT_FOUND')
  })
})

const TEXTS: Readonly<Record<string, string>> = {
  'tools/toml_one.toml':
    'tool_type = "api"\nexecutor = "http_client"\nversion = "1.0.0"\ndescription = "x"\n[config]\nmethod = "GET"\nurl = "http://127.0.0.1:9/"\n',
  'directives/guide.md':
    '# Guide\n\n```xml\n<directive name="guide" version="1.0.0">\n<metadata><description>Guides</description></metadata>\n<process><step name="a">do</step></process>\n</directive>\n```\n',
  'knowledge/fact.md': '---\nid: fact\ntitle: Fact\ndescription: x\nversion: 1.0.0\n---\nA fact.\n',
  'tools/js_one.mjs':
    "/** Says hi. */\nexport const __version__ = '1.0.0'\nexport const __tool_type__ = 'script'\nexport const __executor_id__ = 'node_runtime'\nconsole.log('hi')\n",
  'directives/skilled/SKILL.md': '---\nname: skilled\ndescription: A skill\nversion: 1.0.0\n---\nDo it.\n',
}

describe('where there is no key to be had', () => {
  test('N12: what is made says that it is whole, and that is told', async () => {
    const keyless = await openTempKiwi()
    try {
      writeFileSync(keyless.config.key, 'not a key')
      const made = await keyless.create('whole', BASH, { 'main.sh': '#!/bin/bash\necho whole' })
      expect(made.metadata.warnings?.join()).toContain('is not signed with your key')
      expect(await keyless.run('whole')).toMatchObject({ data: { output: 'whole\n' } })
      expect((await keyless.load('whole')).data).toMatchObject({
        signature: { state: 'validated', fingerprint: null },
      })
    } finally {
      await keyless.close()
    }
  })
})

test('N17: at home the items of the project are those of the user, and run', async () => {
  const home = await openTempKiwi({ isTrusted: false, environment: { KIWI_USER_SPACE: '' } })
  try {
    expect(home.config.userSpace).toBe(join(home.folder, '.ai'))
    const folder = join(home.folder, '.ai/tools/at_home')
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'tool.yaml'), 'tool_type: bash\nversion: 1.0.0\ndescription: x\n')
    writeFileSync(join(folder, 'main.sh'), '#!/bin/bash\necho home')
    const args = { item_type: 'tool', action: 'run', item_id: 'at_home', project_path: home.folder }
    expect(await home.kiwi.call('execute', args, person(home))).toMatchObject({ data: { output: 'home\n' } })
    // An agent has them too, and the home itself is no project of its.
    const atHome = {
      ...person(home),
      kind: 'agent',
      defaultProject: () => Promise.resolve(home.folder),
    } as const
    const { project_path: _, ...unnamed } = args
    expect(await home.kiwi.call('execute', unnamed, atHome)).toMatchObject({ data: { output: 'home\n' } })
    expect((await home.kiwi.call('execute', args, atHome)).error?.code).toBe('PERMISSION_DENIED')
  } finally {
    await home.close()
  }
})

test('SIG-07: a namespace may be a category, and a key may have several', async () => {
  const known = stranger()
  const publisher = { name: 'Acme', key: known.publicKey }
  const publishers = [
    { ...publisher, namespace: 'acme/**' },
    { ...publisher, namespace: 'mail_*' },
  ]
  const open = await openTempKiwi({ settings: { publishers } })
  try {
    bashTool(open, 'in_category', 'true', 'category: acme/net\n')
    bashTool(open, 'mail_send', 'true')
    bashTool(open, 'outside', 'true', 'category: other\n')
    for (const id of ['in_category', 'mail_send', 'outside']) await signByHand(open, id, known)
    expect((await open.load('in_category')).data).toMatchObject({ trust: { level: 2 } })
    expect((await open.load('mail_send')).data).toMatchObject({ trust: { level: 2 } })
    expect((await open.run('outside')).error?.details).toMatchObject({ reason: 'key_scope' })
  } finally {
    await open.close()
  }
})
