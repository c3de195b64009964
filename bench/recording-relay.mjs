// A relay that keeps two records of each call, as Kiwi does: one on disk before it is passed on, the other with the next.
// Nothing is judged, checked, looked at or taken out: what a proxy that records cannot be below.
import { spawn } from 'node:child_process'
import { hash, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'

const [command, ...args] = process.argv.slice(2)
const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'ignore'] })
const folder = mkdtempSync(join(tmpdir(), 'kiwi-relay-'))
const database = new DatabaseSync(join(folder, 'records.db'))
database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 4000;
  CREATE TABLE records (seq INTEGER PRIMARY KEY, kind TEXT, call_id TEXT, body TEXT, hash TEXT, UNIQUE (call_id, kind))`)
const begin = database.prepare('BEGIN IMMEDIATE')
const insert = database.prepare('INSERT INTO records VALUES (?, ?, ?, ?, ?)')
const commit = database.prepare('COMMIT')
/** A record of Kiwi says who, what, by which rule and over which chain. */
const FILLING = 'x'.repeat(700)
const asked = new Map()
let last = 0
let seq = 0
let link = ''
let ended = null

lines(process.stdin, (line) => {
  const message = JSON.parse(line)
  if (message.method === undefined || message.id === undefined) return child.stdin.write(`${line}\n`)
  const callId = randomUUID()
  begin.run()
  if (ended !== null) keep('outcome', ended.callId, ended.message)
  keep('decision', callId, message)
  commit.run()
  ended = null
  asked.set(++last, { id: message.id, callId })
  child.stdin.write(`${JSON.stringify({ ...message, id: last })}\n`)
})
lines(child.stdout, (line) => {
  const message = JSON.parse(line)
  if (message.method !== undefined || !asked.has(message.id)) return process.stdout.write(`${line}\n`)
  const { id, callId } = asked.get(message.id)
  asked.delete(message.id)
  ended = { callId, message }
  process.stdout.write(`${JSON.stringify({ ...message, id })}\n`)
})
process.stdin.on('end', () => child.kill())
child.on('exit', () => {
  database.close()
  rmSync(folder, { recursive: true, force: true })
  process.exit()
})

function keep(kind, callId, message) {
  const body = JSON.stringify({ ...message, kept: FILLING })
  link = hash('sha256', link + body)
  insert.run(++seq, kind, callId, body, link)
}

function lines(stream, take) {
  let rest = ''
  stream.setEncoding('utf8').on('data', (chunk) => {
    const parts = (rest + chunk).split('\n')
    rest = parts.pop() ?? ''
    for (const line of parts) take(line)
  })
}
