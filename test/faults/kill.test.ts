import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { standsBeside } from '../../src/spaces/beside.ts'
import type { Place } from '../fixtures/place.ts'
import { makePlace } from '../fixtures/place.ts'

const DRIVER = join(import.meta.dirname, '../fixtures/kiwi-that-authors.mjs')
const BUNDLE = join(import.meta.dirname, '../../dist/index.js')

/** Several at a time: most of what a round takes is the start of a process. */
const HOMES = 4
const KILLS = 25
const LATEST_MS = 300
/** A kill does not ask what is on disk, so the homes lie in memory where they can: others may keep the disk busy. */
const ROOT = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

interface Told {
  /** By kind of item, its last round that was told. */
  items: Record<string, unknown>
  readonly published: unknown[]
}

const Items = z.record(z.string(), z.unknown())
const Item = z.looseObject({ kind: z.string() })

type Message = Readonly<Record<string, unknown>>

/** What a home looks like after every kill is looked at by the process that is killed next. */
async function killOften(place: Place, random: () => number): Promise<{ written: number; kills: number }> {
  const told: Told = { items: {}, published: [] }
  let [written, kills] = [0, 0]
  for (let round = 0; round <= KILLS; round++) {
    const isLast = round === KILLS
    const child = spawn(process.execPath, [DRIVER, BUNDLE, place.project], {
      env: { ...place.env, KIWI_LOG_LEVEL: 'silent' },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    const gone = once(child, 'exit')
    let fault: unknown = null
    // Every other time the clock runs from the first step that was told: a busy machine must not keep all from any.
    const isFromFirst = round % 2 === 1
    const ready = new Promise<void>((resolve) => {
      child.on('message', (message: Message) => {
        fault ??= message['fault'] ?? null
        if (message['started'] === true) child.send({ ...told, isLast })
        if (message['ready'] !== undefined) {
          told.items = Items.parse(message['ready'])
          if (!isFromFirst || isLast) resolve()
        }
        if (message['written'] !== undefined) {
          const item = Item.parse(message['written'])
          told.items = { ...told.items, [item.kind]: item }
          written += 1
          resolve()
        }
        if (message['published'] !== undefined) told.published.push(message['published'])
      })
    })
    await Promise.race([ready, gone])
    if (!isLast) {
      await Promise.race([sleep(random() * LATEST_MS), gone])
      kills += child.kill('SIGKILL') ? 1 : 0
    }
    await gone
    expect(fault, `round ${round}`).toBeNull()
  }
  return { written, kills }
}

test('R-01: of 100 kills none loses what was told, tears an item or a version, or breaks the journal', async () => {
  const seed = Number(process.env['KIWI_TEST_SEED'] ?? Date.now() % 1_000_000)
  process.stderr.write(`kill.test: KIWI_TEST_SEED=${seed}\n`)
  const places = Array.from({ length: HOMES }, () => makePlace(ROOT))
  try {
    const ends = await Promise.all(places.map((place, at) => killOften(place, randomFrom(seed + at))))
    expect(ends.reduce((sum, { kills }) => sum + kills, 0)).toBe(HOMES * KILLS)
    expect(ends.reduce((sum, { written }) => sum + written, 0)).toBeGreaterThan((HOMES * KILLS) / 4)
    for (const { project } of places) {
      const names = readdirSync(join(project, '.ai'), { recursive: true, encoding: 'utf8' })
      const hidden = names.filter((name) => standsBeside(name.split('/').at(-1) ?? '')?.isOld === true)
      expect(hidden.length, 'what went aside is cleared away by the next one').toBeLessThanOrEqual(1)
    }
  } finally {
    for (const place of places) place.remove()
  }
}, 240_000)

/** Numbers from 0 to 1 that a seed gives again (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
