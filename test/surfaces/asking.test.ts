import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Client } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { textField } from '../fixtures/field.ts'
import { putFile } from '../fixtures/put-file.ts'
import type { Offered } from './offered.ts'
import { ERAS, GREET, openOffered } from './offered.ts'

const RULE = '{ op: tool, match: { tool: kiwi-mcp, actions: [load] }, effect: ask }'
/** A no is remembered for the very same request, so each test has its own. */
const greet = (who: string) => ({ name: 'greet_all', arguments: { who } })

let offered: Offered
beforeAll(async () => {
  offered = await openOffered()
  offered.temp.write('directives/greet_all.md', GREET)
})
afterAll(() => offered.close())

describe.each(ERAS)('X11: where a rule asks about load, a client of the %s era', (era) => {
  beforeAll(() =>
    putFile(join(offered.temp.folder, 'user/config/agent_harness.yaml'), `rules:\n  - ${RULE}\n`),
  )

  const connect = async (decision: string): Promise<Client> => {
    const client = await offered.connect(era, { elicitation: { form: {} } })
    client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { decision } }))
    return client
  }

  test('X11: that shows forms asks its person before it gets a prompt', async () => {
    const yes = await connect('once')
    const { messages } = await yes.getPrompt(greet(`Ada ${era}`))
    expect(textField(messages, 0, 'content', 'text')).toContain(`Say hello to Ada ${era}`)
    const no = await connect('reject')
    await expect(no.getPrompt(greet(`Bob ${era}`))).rejects.toMatchObject({ code: -32_000 })
  })

  test('X11: that shows none is told how a person answers, and still has the list', async () => {
    const client = await offered.connect(era)
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toContain('greet_all')
    await expect(client.getPrompt(greet(`Cid ${era}`))).rejects.toMatchObject({
      code: -32_000,
      message: expect.stringContaining('kiwi approve'),
    })
  })
})

test('X11, S11: prompts are those of the root that a client names', async () => {
  const elsewhere = await openOffered()
  try {
    const root = join(elsewhere.temp.folder, 'another project')
    mkdirSync(root)
    putFile(join(root, '.ai/directives/rooted.md'), '---\ndescription: Rooted\n---\nGo.\n')
    const client = await elsewhere.connect('legacy', { roots: {} })
    client.setRequestHandler('roots/list', () => ({ roots: [{ uri: pathToFileURL(root).href }] }))
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toContain('rooted')
  } finally {
    await elsewhere.close()
  }
})
