import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { z } from 'zod'
import type { Place } from '../test/fixtures/place.ts'
import { ROOT } from './measure.ts'

/** Somebody who answers `echo`: the server itself, or what stands before it. */
export interface Contestant {
  readonly name: string
  connect(place: Place): Promise<Connected>
}

export interface Connected {
  call(): Promise<unknown>
  /** Of the process that is measured. */
  readonly pid: number
  close(): Promise<void>
}

/** The reference upstream. */
export const EVERYTHING = join(ROOT, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js')
const UPSTREAM = [process.execPath, EVERYTHING, 'stdio'] as const
export const KIWI = join(ROOT, 'dist/cli.js')
const PEERS = join(ROOT, 'bench/peers/node_modules/.bin')

type ToolCall = Parameters<Client['callTool']>[0]
const ECHO: ToolCall = { name: 'echo', arguments: { message: 'hello' } }
const EXECUTE: ToolCall = {
  name: 'execute',
  arguments: {
    item_type: 'tool',
    action: 'call',
    item_id: 'everything.echo',
    parameters: { message: 'hello' },
  },
}

export const direct: Contestant = {
  name: 'direct stdio',
  connect: (place) => overStdio(place, [...UPSTREAM], ECHO),
}
export const kiwi: Contestant = {
  name: 'kiwi, execute',
  connect: (place) => overStdio(withServer(place), [process.execPath, KIWI], EXECUTE),
}
export const passthrough: Contestant = {
  name: 'kiwi, passthrough',
  connect: (place) =>
    overStdio(withServer(place), [process.execPath, KIWI, 'stdio', '--passthrough', 'everything'], ECHO),
}
/** What no proxy can be below. */
export const relay: Contestant = {
  name: 'a bare relay that judges and keeps nothing',
  connect: (place) => overStdio(place, [process.execPath, join(ROOT, 'bench/relay.mjs'), ...UPSTREAM], ECHO),
}
/** What no proxy can be below that has a record on disk before it passes a call on. */
export const recordingRelay: Contestant = {
  name: 'a bare relay that only keeps records',
  connect: (place) =>
    overStdio(place, [process.execPath, join(ROOT, 'bench/recording-relay.mjs'), ...UPSTREAM], ECHO),
}
export const naive: readonly Contestant[] = ['v1', 'v2'].map((sdk) => ({
  name: `naive proxy on the SDK ${sdk}`,
  connect: (place) =>
    overStdio(place, [process.execPath, join(ROOT, `bench/naive-proxy-${sdk}.mjs`), ...UPSTREAM], ECHO),
}))

export const directHttp: Contestant = {
  name: 'the SDK server spoken to over HTTP',
  connect: (place) =>
    overHttp(place, {
      argv: (port) => [process.execPath, EVERYTHING, 'streamableHttp', `${port}`],
      call: ECHO,
    }),
}
export const kiwiHttp: Contestant = {
  name: 'kiwi over HTTP, execute',
  connect: (place) =>
    overHttp(withServer(place), {
      argv: (port) => [process.execPath, KIWI, 'serve', '--port', `${port}`, '--no-auth'],
      call: EXECUTE,
    }),
}

export const peers: readonly Contestant[] = [
  {
    name: 'mcp-hub 4.2.1 (SSE)',
    connect: (place) =>
      overHttp(place, {
        argv: (port) => [join(PEERS, 'mcp-hub'), '--port', `${port}`, '--config', hubConfig(place)],
        path: '/mcp',
        isSse: true,
        call: { ...ECHO, name: 'everything__echo' },
      }),
  },
  {
    name: 'mcp-proxy 6.7.19',
    connect: (place) =>
      overHttp(place, {
        argv: (port) => [
          join(PEERS, 'mcp-proxy'),
          '--host',
          '127.0.0.1',
          '--port',
          `${port}`,
          '--',
          ...UPSTREAM,
        ],
        call: ECHO,
      }),
  },
  {
    name: 'supergateway 4.0.0',
    connect: (place) =>
      overHttp(place, {
        argv: (port) => [
          join(PEERS, 'supergateway'),
          '--stdio',
          UPSTREAM.join(' '),
          '--outputTransport',
          'streamableHttp',
          '--stateful',
          '--port',
          `${port}`,
          '--logLevel',
          'none',
        ],
        call: ECHO,
      }),
  },
]
export const hasPeers = existsSync(PEERS)

/** What a person who wants this server behind Kiwi writes down. */
function withServer(place: Place): Place {
  const [command, ...args] = UPSTREAM
  return writeServers(place, { everything: { type: 'stdio', command, args } })
}

export function writeServers(place: Place, mcps: object): Place {
  const folder = join(place.env['KIWI_USER_SPACE'] ?? '', 'config')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'mcp_registry.yaml'), JSON.stringify({ mcps }))
  return place
}

/** A server that is spoken to over stdio by the SDK's client. */
export interface Spoken {
  readonly pid: number
  list(): Promise<readonly unknown[]>
  call(call: ToolCall): Promise<string>
  close(): Promise<void>
}

export async function spokenTo(
  place: Place,
  [command = '', ...args]: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Spoken> {
  const transport = new StdioClientTransport({
    command,
    args,
    cwd: place.project,
    env: { ...place.env, ...env },
    stderr: 'ignore',
  })
  const client = await connected(transport)
  return {
    pid: transport.pid ?? 0,
    list: async () => (await client.listTools()).tools,
    call: async (call) => JSON.stringify(await checked(client, call)),
    close: () => client.close(),
  }
}

function hubConfig({ folder }: Place): string {
  const path = join(folder, 'hub.json')
  const [command, ...args] = UPSTREAM
  writeFileSync(path, JSON.stringify({ mcpServers: { everything: { command, args } } }))
  return path
}

async function overStdio(
  place: Place,
  [command = '', ...args]: string[],
  call: ToolCall,
): Promise<Connected> {
  const spoken = await spokenTo(place, [command, ...args])
  return { ...spoken, call: () => spoken.call(call) }
}

interface Address {
  readonly argv: (port: number) => readonly string[]
  readonly path?: string
  readonly isSse?: boolean
  readonly call: ToolCall
}

const UP_MS = 30_000

async function overHttp(
  place: Place,
  { argv, path = '/mcp', isSse = false, call }: Address,
): Promise<Connected> {
  const port = await freePort()
  const [command = '', ...args] = argv(port)
  const child = spawn(command, args, {
    cwd: place.project,
    env: { ...place.env, PORT: `${port}` },
    stdio: 'ignore',
  })
  const url = new URL(`http://127.0.0.1:${port}${path}`)
  const open = (): Promise<Client> =>
    connected(isSse ? new SSEClientTransport(url) : new StreamableHTTPClientTransport(url))
  const client = await untilUp(child, open)
  return {
    call: () => checked(client, call),
    pid: child.pid ?? 0,
    async close() {
      await client.close().catch(() => undefined)
      child.kill('SIGTERM')
      const late = setTimeout(() => child.kill('SIGKILL'), 3000)
      if (child.exitCode === null) await once(child, 'exit')
      clearTimeout(late)
    },
  }
}

async function untilUp(child: ChildProcess, open: () => Promise<Client>): Promise<Client> {
  const latest = performance.now() + UP_MS
  for (;;) {
    try {
      const client = await open()
      // Some listen before they have their upstream.
      if ((await client.listTools()).tools.length > 0) return client
      await client.close()
    } catch (error) {
      if (performance.now() > latest || child.exitCode !== null) throw error
    }
    await sleep(100)
  }
}

async function connected(transport: Parameters<Client['connect']>[0]): Promise<Client> {
  const client = new Client({ name: 'bench', version: '1' })
  try {
    await client.connect(transport)
    return client
  } catch (error) {
    // Who listens for events would try again for ever, and this process would not end.
    await transport.close()
    throw error
  }
}

const Answer = z.object({ isError: z.boolean().optional(), content: z.array(z.unknown()).min(1) })

async function checked(client: Client, call: ToolCall): Promise<unknown> {
  const answer = Answer.parse(await client.callTool(call))
  if (answer.isError === true) throw new Error(JSON.stringify(answer).slice(0, 500))
  return answer
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  return typeof address === 'object' && address !== null ? address.port : 0
}

/** Microseconds of processor time a process has used so far. */
export function cpuMicroseconds(pid: number): number {
  const [, rest = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
  const fields = rest.split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10_000
}

export function rssMb(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024
}
