import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import type { Client } from '@modelcontextprotocol/client'
import { SkillsClient } from '@modelcontextprotocol/client/ext/skills'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { textField } from '../fixtures/field.ts'
import { person } from '../trust/callers.ts'
import type { Offered } from './offered.ts'
import { ERAS, GREET, openOffered } from './offered.ts'

const SKILL = `---
name: brew-coffee
description: 'Brews coffee: strong, or not'
allowed-tools: Bash(brew *)
metadata:
  author: somebody
---

# Brew

Grind first.
`
const BYTES = Buffer.from([0xff, 0xfe, 0, 1, 2])

let offered: Offered
beforeAll(async () => {
  offered = await openOffered()
  const { temp } = offered
  temp.write('directives/brew-coffee/SKILL.md', SKILL)
  temp.write('directives/brew-coffee/references/Q&A 1.md', 'Why? Because.\n')
  temp.write('directives/Odd_Skill/SKILL.md', SKILL.replace('brew-coffee', 'Odd_Skill'))
  temp.write('directives/greet_all.md', GREET)
  temp.write('knowledge/house_keys.md', '---\ntitle: "Keys: \\"all\\" of them"\n---\nUnder the mat.\n')
  writeFileSync(temp.write('directives/brew-coffee/beans.bin', ''), BYTES)
})
afterAll(() => offered.close())

const ROOT = 'skill://directive/brew-coffee'
const HOSTILE = [
  `${ROOT}/../../../etc/passwd`,
  `${ROOT}/%2e%2e/%2e%2e/SKILL.md`,
  `${ROOT}/..%2f..%2fSKILL.md`,
  `${ROOT}/a%00b`,
  `${ROOT}/%`,
  'skill://directive',
  'skill://directive/',
  'skill://tool/hello_bash/hello-bash/SKILL.md',
  'skill://directive/greet_all/wrong-name/SKILL.md',
  'skill://directive/..%2f..%2fetc/etc/SKILL.md',
  'skill://',
]

describe.each(ERAS)('X11: for a client of the %s era', (era) => {
  let client: Client
  let skills: SkillsClient
  beforeAll(async () => {
    client = await offered.connect(era)
    skills = new SkillsClient(client)
  })
  const uris = async (): Promise<readonly string[]> => (await skills.list()).skills.map(({ uri }) => uri)
  const skillAt = async (uri: string) => (await skills.get(uri)).skill

  test('X11: directives and knowledge are skills, each named by the rules', async () => {
    expect(skills.supported).toBe(true)
    expect(await uris()).toEqual(
      expect.arrayContaining([
        `${ROOT}/SKILL.md`,
        'skill://directive/Odd_Skill/odd-skill/SKILL.md',
        'skill://directive/greet_all/greet-all/SKILL.md',
        'skill://knowledge/house_keys/house-keys/SKILL.md',
        'skill://knowledge/kiwi-overview/SKILL.md',
      ]),
    )
  })

  test('X11: every file of every skill is what its digest and size say', async () => {
    const { skills: all } = await skills.list()
    for (const skill of all) {
      if (skill.resources === 'dynamic') throw new Error('each has its list')
      for (const { uri } of skill.resources) {
        const { verified, bytes } = await skills.read(skill, uri)
        expect(verified && bytes.length > 0).toBe(true)
      }
    }
  })

  test('X11: a folder with a SKILL.md is served byte for byte, and what it asks for is only said', async () => {
    const skill = await skillAt(`${ROOT}/SKILL.md`)
    expect(skill.frontmatter).toMatchObject({ name: 'brew-coffee', 'allowed-tools': 'Bash(brew *)' })
    expect(skill.resources).toEqual([
      {
        uri: `${ROOT}/SKILL.md`,
        digest: `sha256:${createHash('sha256').update(SKILL).digest('hex')}`,
        size: Buffer.byteLength(SKILL),
      },
      expect.objectContaining({ uri: `${ROOT}/beans.bin`, size: BYTES.length }),
      expect.objectContaining({ uri: `${ROOT}/references/Q%26A%201.md` }),
    ])
    expect((await skills.read(skill)).text).toBe(SKILL)
    expect(Buffer.from((await skills.read(skill, 'beans.bin')).bytes)).toEqual(BYTES)
    expect((await skills.read(skill, 'references/Q&A 1.md')).text).toBe('Why? Because.\n')
  })

  test('X11: the folders of a skill are listed', async () => {
    expect((await skills.readDirectory(ROOT)).resources).toEqual([
      { uri: `${ROOT}/SKILL.md`, name: 'SKILL.md', mimeType: 'text/markdown', size: SKILL.length },
      {
        uri: `${ROOT}/beans.bin`,
        name: 'beans.bin',
        mimeType: 'application/octet-stream',
        size: BYTES.length,
      },
      { uri: `${ROOT}/references`, name: 'references', mimeType: 'inode/directory' },
    ])
    await expect(skills.readDirectory(`${ROOT}/nothing`)).rejects.toMatchObject({ code: -32_602 })
  })

  test('X11: a directive that is none gets a SKILL.md that says how it is begun', async () => {
    const skill = await skillAt('skill://directive/greet_all/greet-all/SKILL.md')
    const { frontmatter, body } = await skills.read(skill)
    expect(frontmatter).toEqual({
      name: 'greet-all',
      description: 'Greets people',
      metadata: { 'kiwi-id': 'greet_all', version: '1.2.0' },
    })
    expect(body).toContain('"action":"run","item_id":"greet_all"')
    expect(body).toContain('Say hello to {who}')
  })

  test('X11: a piece of knowledge is a skill with its text', async () => {
    const skill = await skillAt('skill://knowledge/house_keys/house-keys/SKILL.md')
    const { frontmatter, body } = await skills.read(skill)
    expect(frontmatter).toMatchObject({ description: 'Keys: "all" of them' })
    expect(body?.trim()).toBe('Under the mat.')
  })

  test.each(HOSTILE)('X11: the address %j is answered with what is wrong', async (uri) => {
    const message = { code: -32_602, data: { code: expect.any(String), hint: expect.any(String) } }
    await expect(client.readResource({ uri })).rejects.toMatchObject(message)
  })

  test('X11: a skill or a file that is not there is not found', async () => {
    await expect(skills.get('skill://directive/no-such/SKILL.md')).rejects.toMatchObject({ code: -32_602 })
    await expect(skills.get(`${ROOT}/beans.bin`)).rejects.toMatchObject({ code: -32_602 })
    await expect(client.readResource({ uri: `${ROOT}/no.md` })).rejects.toMatchObject({
      data: { code: 'NOT_FOUND', hint: expect.stringContaining('skills/get') },
    })
  })
})

test('X11: a signed skill is served without the lines that sign it', async () => {
  const { temp } = offered
  const text = SKILL.replace('name: brew-coffee', 'name: signed-one\nversion: 1.0.0').replace(
    /allowed.*\n/,
    '',
  )
  const file = temp.write('directives/signed-one/SKILL.md', text)
  const sign = { item_type: 'directive', action: 'sign', item_id: 'signed-one' }
  const signed = await temp.kiwi.call('execute', sign, person(temp))
  expect(signed.error).toBeNull()
  expect(readFileSync(file, 'utf8')).not.toBe(text)
  const skills = new SkillsClient(await offered.connect('legacy'))
  const { skill } = await skills.get('skill://directive/signed-one/SKILL.md')
  expect(await skills.read(skill)).toMatchObject({ text, verified: true })
})

test('X11: a skill that was fetched and put elsewhere is the same item, and what it asks for grants nothing', async () => {
  const skills = new SkillsClient(await offered.connect('modern'))
  const { skill } = await skills.get(`${ROOT}/SKILL.md`)
  const elsewhere = await openOffered()
  try {
    if (skill.resources === 'dynamic') throw new Error('it has its list')
    for (const { uri } of skill.resources) {
      const { bytes } = await skills.read(skill, uri)
      const path = decodeURIComponent(uri.slice(ROOT.length + 1))
      writeFileSync(elsewhere.temp.write(`directives/brew-coffee/${path}`, ''), bytes)
    }
    const directive = { item_type: 'directive', item_id: 'brew-coffee' }
    const here = await offered.temp.call('load', directive)
    const there = await elsewhere.temp.call('load', directive)
    expect(textField(there.data, 'content_hash')).toBe(textField(here.data, 'content_hash'))
    const again = new SkillsClient(await elsewhere.connect('legacy'))
    expect((await again.get(`${ROOT}/SKILL.md`)).skill).toEqual(skill)
    const begun = await elsewhere.temp.call('execute', { ...directive, action: 'run' })
    expect(begun).toMatchObject({ status: 'ready', data: { permissions: { granted: [] } } })
  } finally {
    await elsewhere.close()
  }
})

test('X11: a file that is too large for a message is read page by page', async () => {
  const large = await openOffered()
  try {
    large.temp.write('directives/brew-coffee/SKILL.md', SKILL)
    large.temp.write('directives/brew-coffee/large.txt', 'x'.repeat(5_000_000))
    const client = await large.connect('legacy')
    await expect(client.readResource({ uri: `${ROOT}/large.txt` })).rejects.toMatchObject({
      data: {
        code: 'MESSAGE_TOO_LARGE',
        fix: { call: 'load', arguments: { item_id: 'brew-coffee', path: 'large.txt' } },
      },
    })
  } finally {
    await large.close()
  }
})

test('X11: a file with a secret in it is held back, and the others are not', async () => {
  const secret = 'kw-9d8f7a6b5c4e3d2c1b0a'
  const known = await openOffered()
  try {
    known.temp.write('directives/leaky/SKILL.md', SKILL.replace('brew-coffee', 'leaky'))
    known.temp.write('directives/leaky/notes.txt', `the key is ${secret}\n`)
    const server = { tool_type: 'mcp_server', executor: 'subprocess', version: '1.0.0', description: 'x' }
    const config = { transport: 'stdio', command: 'true', env: { API_KEY: secret } }
    known.temp.write('tools/mcp/mcp_acme.yaml', JSON.stringify({ tool_id: 'mcp_acme', ...server, config }))
    const client = await known.connect('legacy')
    const uri = 'skill://directive/leaky'
    expect((await client.readResource({ uri: `${uri}/SKILL.md` })).contents).toHaveLength(1)
    await expect(client.readResource({ uri: `${uri}/notes.txt` })).rejects.toMatchObject({
      data: { code: 'SECRET_BLOCKED' },
    })
  } finally {
    await known.close()
  }
})
