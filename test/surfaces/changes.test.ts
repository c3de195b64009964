import { rmSync, writeFileSync } from 'node:fs'
import type { Client } from '@modelcontextprotocol/client'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { openChanges } from '../../src/server/changes.ts'
import { systemClock } from '../../src/shared/clock.ts'
import type { Offered } from './offered.ts'
import { GREET, openOffered } from './offered.ts'

const NOTE = 'kiwi://knowledge/note'
const WAIT = { timeout: 15_000, interval: 50 }

let offered: Offered
beforeEach(async () => {
  offered = await openOffered()
  write('knowledge/note.md', 'First.')
  offered.temp.write('directives/greet_all.md', GREET)
})
afterEach(() => offered.close())

const write = (path: string, text: string): string =>
  offered.temp.write(path, `---\ntitle: A note\n---\n${text}\n`)

/** Everything a client is told of changes. */
function heardBy(client: Client): string[] {
  const heard: string[] = []
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
    heard.push(`updated ${params.uri}`)
  })
  for (const list of ['prompts', 'resources', 'tools'] as const)
    client.setNotificationHandler(
      `notifications/${list}/list_changed`,
      () => void heard.push(`${list} changed`),
    )
  return heard
}

describe('X11: a client of the older era', () => {
  test('X11: hears that a resource it subscribed to was changed and removed, and of no other', async () => {
    const other = write('knowledge/other.md', 'Other.')
    const client = await offered.connect('legacy')
    const heard = heardBy(client)
    await client.subscribeResource({ uri: NOTE })
    write('knowledge/other.md', 'Another.')
    const path = write('knowledge/note.md', 'Second.')
    await vi.waitFor(() => expect(heard).toEqual([`updated ${NOTE}`]), WAIT)
    rmSync(path)
    await vi.waitFor(() => expect(heard).toEqual([`updated ${NOTE}`, `updated ${NOTE}`]), WAIT)
    rmSync(other)
  })

  test('X11: hears no more of one that it unsubscribed from', async () => {
    const client = await offered.connect('legacy')
    const heard = heardBy(client)
    await client.subscribeResource({ uri: NOTE })
    await client.unsubscribeResource({ uri: NOTE })
    await client.subscribeResource({ uri: 'skill://directive/greet_all/greet-all/SKILL.md' })
    write('knowledge/note.md', 'Second.')
    offered.temp.write('directives/greet_all.md', GREET.replace('hello', 'goodbye'))
    await vi.waitFor(() => expect(heard).toHaveLength(1), WAIT)
    expect(heard).toEqual(['updated skill://directive/greet_all/greet-all/SKILL.md'])
  })

  test('X11: hears with its next call that a list it was shown is another, and of none that it was not', async () => {
    const client = await offered.connect('legacy')
    const heard = heardBy(client)
    await client.listPrompts()
    write('knowledge/more.md', 'More.')
    offered.temp.write('directives/new_one.md', '---\ndescription: New\n---\nGo.\n')
    await client.callTool({ name: 'search', arguments: { query: 'new' } })
    await vi.waitFor(() => expect(heard).toEqual(['prompts changed']), WAIT)
    const { prompts } = await client.listPrompts()
    expect(prompts.map(({ name }) => name)).toContain('new_one')
  })

  test('X11, H1: hears that a rule of a person has taken something out of a list, and let it in again', async () => {
    const client = await offered.connect('legacy')
    const heard = heardBy(client)
    const names = async (): Promise<readonly string[]> =>
      (await client.listPrompts()).prompts.map(({ name }) => name)
    const look = (): Promise<unknown> =>
      client.callTool({ name: 'search', arguments: { query: 'nothing of it' } })
    expect(await names()).toContain('greet_all')
    const rule = '{ op: tool, match: { tool: [greet_all] }, effect: deny }'
    const harness = offered.temp.write('config/agent_harness.yaml', `mode: direct\nrules:\n  - ${rule}\n`)
    await look()
    await vi.waitFor(() => expect(heard).toEqual(['prompts changed']), WAIT)
    expect(await names()).not.toContain('greet_all')
    writeFileSync(harness, 'mode: direct\n')
    await look()
    await vi.waitFor(() => expect(heard).toEqual(['prompts changed', 'prompts changed']), WAIT)
    expect(await names()).toContain('greet_all')
  })

  test('X11: is told nothing while nothing changes', async () => {
    const client = await offered.connect('legacy')
    const heard = heardBy(client)
    await client.listPrompts()
    await client.listResources()
    await client.callTool({ name: 'search', arguments: { query: 'greet' } })
    await client.callTool({ name: 'load', arguments: { item_type: 'directive', item_id: 'greet_all' } })
    offered.temp.write('tools/lonely.sh', '#!/bin/bash\n# A tool\ntrue\n')
    await client.callTool({ name: 'search', arguments: { query: 'lonely' } })
    expect((await client.listPrompts()).prompts.length).toBeGreaterThan(0)
    expect(heard).toEqual([])
  })
})

describe('X11: a client of the newer era that listens', () => {
  test('X11: hears of what it listens to', async () => {
    const client = await offered.connect('modern')
    const heard = heardBy(client)
    const listening = await client.listen({
      promptsListChanged: true,
      resourcesListChanged: true,
      resourceSubscriptions: [NOTE],
    })
    write('knowledge/note.md', 'Second.')
    await vi.waitFor(() => expect(heard).toEqual([`updated ${NOTE}`]), WAIT)
    offered.temp.write('directives/new_one.md', '---\ndescription: New\n---\nGo.\n')
    await vi.waitFor(
      () => expect(heard.toSorted()).toEqual(['prompts changed', 'resources changed', `updated ${NOTE}`]),
      WAIT,
    )
    await listening.close()
  })

  test('X11: hears of a list that is another as soon as it listens', async () => {
    const client = await offered.connect('modern')
    const heard = heardBy(client)
    const listening = await client.listen({ promptsListChanged: true })
    offered.temp.write('directives/new_one.md', '---\ndescription: New\n---\nGo.\n')
    await vi.waitFor(() => expect(heard).toEqual(['prompts changed']), WAIT)
    await listening.close()
  })

  test('X11: hears of nothing that changed before it listened', async () => {
    const client = await offered.connect('modern')
    const heard = heardBy(client)
    const all = { promptsListChanged: true, resourcesListChanged: true, resourceSubscriptions: [NOTE] }
    const first = await client.listen(all)
    await first.close()
    write('knowledge/note.md', 'While nobody listens.')
    offered.temp.write('directives/new_one.md', '---\ndescription: New\n---\nGo.\n')
    const listening = await client.listen(all)
    write('knowledge/note.md', 'While somebody listens.')
    await vi.waitFor(() => expect(heard).toEqual([`updated ${NOTE}`]), WAIT)
    await listening.close()
  })

  test('X11: is let listen where nothing can be looked at', async () => {
    const changes = openChanges({
      open: () => Promise.reject(new Error('no store')),
      project: () => null,
      clock: systemClock,
    })
    await expect(changes.expect([NOTE])).resolves.toBeUndefined()
    changes.close()
  })
})

test('X11: with a watch the older era hears of a list without a call', async () => {
  const watched = await openOffered({ settings: { watch: true } })
  try {
    watched.temp.write('directives/greet_all.md', GREET)
    const client = await watched.connect('legacy')
    const heard = heardBy(client)
    await client.listPrompts()
    watched.temp.write('directives/new_one.md', '---\ndescription: New\n---\nGo.\n')
    await vi.waitFor(() => expect(heard).toEqual(['prompts changed']), WAIT)
  } finally {
    await watched.close()
  }
})
