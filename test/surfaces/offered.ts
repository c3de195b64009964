import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { buildServer } from '../../src/server/build-server.ts'
import { openHttp } from '../../src/server/http.ts'
import { systemClock } from '../../src/shared/clock.ts'
import { createIds } from '../../src/shared/ids.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { openTempKiwi } from '../temp-kiwi.ts'

export type Era = 'legacy' | 'modern'
export const ERAS: readonly Era[] = ['legacy', 'modern']

/** A real endpoint over HTTP on a real Kiwi, and clients of both eras at it. */
export interface Offered {
  readonly temp: TempKiwi
  readonly url: string
  connect(era: Era, capabilities?: object): Promise<Client>
  close(): Promise<void>
}

export async function openOffered(options: Parameters<typeof openTempKiwi>[0] = {}): Promise<Offered> {
  const temp = await openTempKiwi(options)
  const built = buildServer({
    version: '1.0.0',
    open: async () => temp.kiwi,
    principal: 'tester',
    newSession: createIds(Date.now),
    folder: temp.project,
  })
  const http = await openHttp(built.build, {
    port: 0,
    token: null,
    clock: systemClock,
    bus: built.bus,
    desk: {
      file: () => Promise.resolve(null),
      useCode: () => Promise.resolve(false),
      waiting: () => Promise.resolve([]),
      decide: () => Promise.resolve(''),
    },
  })
  const clients: Client[] = []
  return {
    temp,
    url: http.url,
    async connect(era, capabilities = {}) {
      const negotiation = era === 'modern' ? { versionNegotiation: { mode: 'auto' as const } } : {}
      const client = new Client({ name: 'test', version: '1' }, { capabilities, ...negotiation })
      await client.connect(new StreamableHTTPClientTransport(new URL(http.url)))
      clients.push(client)
      return client
    },
    async close() {
      await Promise.all(clients.map((client) => client.close()))
      built.close()
      await http.close()
      await temp.close()
    },
  }
}

/** A directive with inputs of several kinds. */
export const GREET = `---
name: greet_all
version: 1.2.0
description: Greets people
inputs:
  - { name: who, type: string, required: true, description: Whom to greet }
  - { name: tone, type: string, enum: [formal, friendly, frosty] }
  - { name: times, type: integer, default: 2 }
  - { name: loud, type: boolean }
---
# Greet

Say hello to {who}, {times} times.
`
