import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as StdioTransportV1 } from '@modelcontextprotocol/sdk/client/stdio.js'
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { textField } from '../fixtures/field.ts'
import type { Place } from '../fixtures/place.ts'
import { makePlace } from '../fixtures/place.ts'
import { GREET } from '../surfaces/offered.ts'
import { CLI } from './temp-server.ts'

let place: Place
beforeAll(() => {
  place = makePlace()
  write('directives/greet_all.md', GREET)
  write('knowledge/note.md', 'First.\n')
})
afterAll(() => place.remove())

function write(path: string, text: string): void {
  const target = join(place.env['KIWI_USER_SPACE'] ?? '', path)
  mkdirSync(dirname(target), { recursive: true })
  writeFileSync(target, text)
}

const launch = () => ({ command: process.execPath, args: [CLI], cwd: place.project, env: { ...place.env } })
const NOTE = 'kiwi://knowledge/note'
const WAIT = { timeout: 15_000, interval: 50 }

test('X11: a client of the first SDK lists, gets, completes, reads and is told of a change', async () => {
  const client = new ClientV1({ name: 'old', version: '1' })
  await client.connect(new StdioTransportV1(launch()))
  const updated: string[] = []
  client.setNotificationHandler(
    ResourceUpdatedNotificationSchema,
    ({ params }) => void updated.push(params.uri),
  )
  try {
    const { prompts } = await client.listPrompts()
    expect(prompts.map(({ name }) => name)).toContain('greet_all')
    const { messages } = await client.getPrompt({ name: 'greet_all', arguments: { who: 'Ada' } })
    expect(textField(messages, 0, 'content', 'text')).toContain('Say hello to Ada')
    const ref = { type: 'ref/prompt', name: 'greet_all' } as const
    const { completion } = await client.complete({ ref, argument: { name: 'tone', value: 'fo' } })
    expect(completion.values).toEqual(['formal'])
    const { contents } = await client.readResource({ uri: NOTE })
    expect(contents).toMatchObject([{ uri: NOTE, text: 'First.\n' }])
    await client.subscribeResource({ uri: NOTE })
    write('knowledge/note.md', 'Second, and longer.\n')
    await vi.waitFor(() => expect(updated).toEqual([NOTE]), WAIT)
  } finally {
    await client.close()
  }
})

test('X11: a client of the newer era on standard input is told of what changes as soon as it listens', async () => {
  const client = new Client(
    { name: 'new', version: '1' },
    { capabilities: {}, versionNegotiation: { mode: 'auto' } },
  )
  await client.connect(new StdioClientTransport(launch()))
  const updated: string[] = []
  client.setNotificationHandler(
    'notifications/resources/updated',
    ({ params }) => void updated.push(params.uri),
  )
  try {
    const { messages } = await client.getPrompt({ name: 'greet_all', arguments: { who: 'Ada' } })
    expect(textField(messages, 0, 'content', 'text')).toContain('Say hello to Ada')
    const listening = await client.listen({ resourceSubscriptions: [NOTE] })
    write('knowledge/note.md', 'Third, and longer than before.\n')
    await vi.waitFor(() => expect(updated).toEqual([NOTE]), WAIT)
    await listening.close()
  } finally {
    await client.close()
  }
})
