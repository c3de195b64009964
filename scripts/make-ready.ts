import { spawn } from 'node:child_process'
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Kiwi } from '../src/kiwi.ts'
import { compiledOf, openBundle } from './bundle.ts'

/**
 * `node dist-dev/make-ready.js`: uses what was built as people and clients do, and keeps what the engine compiled of it,
 * and a store as it is before its first use.
 */
const DIST = resolve(import.meta.dirname, '../dist')
const INSIDE = 'inside'
const LONGEST_MS = 120_000
const LONGEST_READ_MS = 60_000
const LOOK_MS = 200
const SHIPPED = [{ space: 'builtin', root: '' }] as const

/** What people type. */
const COMMANDS = [
  ['--help'],
  ['init'],
  ['search', 'say', 'hello'],
  ['load', 'hello_bash'],
  ['run', 'hello_bash', 'name=Ada'],
  ['approvals'],
  ['audit'],
  ['servers'],
]
/** What agents send. */
const CALLS = [
  ['search', { query: 'say hello' }],
  ['load', { item_type: 'tool', item_id: 'hello_bash' }],
  ['execute', { item_type: 'tool', action: 'run', item_id: 'hello_bash', parameters: { name: 'Ada' } }],
  ['execute', { item_type: 'tool', action: 'run', item_id: 'filesystem.list', parameters: { path: '.' } }],
  ['help', { topic: 'how do I add a server' }],
] as const
const REQUESTS = [
  {
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'build', version: '1' } },
  },
  { method: 'tools/list', params: {} },
  ...CALLS.map(([name, args]) => ({ method: 'tools/call', params: { name, arguments: args } })),
]

if (process.argv[2] === INSIDE) await use()
else await drive()

/** Plays the client of the process that uses it, which has a home of its own. */
async function drive(): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), 'kiwi-build-'))
  try {
    const child = spawn(process.execPath, [import.meta.filename, INSIDE], {
      cwd: home,
      env: { PATH: process.env['PATH'], HOME: home },
      timeout: LONGEST_MS,
    })
    // One that has ended takes nothing more; what it ended with is told.
    child.stdin.on('error', () => undefined)
    let said = ''
    child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()))
    const ended = new Promise<number | null>((done) => child.once('exit', done))
    let sent = 0
    const send = (): void => {
      const request = REQUESTS[sent]
      if (request === undefined) child.stdin.end()
      else child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: sent++, ...request })}\n`)
    }
    send()
    // What commands print for people begins otherwise.
    for await (const line of createInterface(child.stdout)) if (line.startsWith('{"')) send()
    const code = await ended
    // It works without, only slower: no reason for a build to fail.
    if (code !== 0) console.error(`Not made ready, ended with ${code}: starts will be slower\n${said}`)
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

/** What is shipped has been read when a store begins. */
async function readAll({ vectors }: Kiwi): Promise<void> {
  if (vectors === null) return
  const latest = Date.now() + LONGEST_READ_MS
  while (Date.now() < latest) {
    vectors.begin(SHIPPED)
    const { texts, made } = await vectors.state(SHIPPED)
    if (made === texts) return
    await sleep(LOOK_MS)
  }
}

async function use(): Promise<void> {
  const require = createRequire(join(DIST, 'cli.js'))
  // What is compiled with flags of the engine is taken only with the same: they stay as they are.
  const plain = (name: string): unknown =>
    name === 'node:v8' ? { setFlagsFromString: () => undefined } : require(name)
  const { load, scripts } = openBundle(DIST, plain)
  process.once('exit', () => {
    for (const [path, script] of scripts) writeFileSync(compiledOf(path), script.createCachedData())
  })
  const { openKiwi, loadConfig } = load('index.js')
  const kiwi = await openKiwi(loadConfig({ HOME: process.cwd() }))
  await readAll(kiwi)
  await kiwi.close()
  copyFileSync(kiwi.config.store, join(DIST, 'new-store.db'))
  const { run } = load('main.js')
  for (const command of COMMANDS) await run([process.execPath, 'kiwi', ...command])
  await run([process.execPath, 'kiwi'])
  // What is not there on a machine, such as a shell, is nothing to fail for.
  process.exitCode = 0
}
