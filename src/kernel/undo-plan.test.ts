import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
} from 'node:fs'
import { realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import * as fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ABSENT, isSame, seeEntries } from '../spaces/entry.ts'
import type { PathChange } from '../store/undo.ts'
import { putBack } from './put-back.ts'
import type { UndoPlan, UndoStep } from './undo-plan.ts'
import { planUndo } from './undo-plan.ts'

let root: string
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'kiwi-undo-')))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const BOUNDS = { bytes: 1e9, files: 1000 }

/** Calls as the checkpoint sees them: what the paths were before, and what they are after. */
function record(bytes: Map<string, Uint8Array>): (paths: readonly string[], work: () => void) => UndoStep {
  let calls = 0
  return (paths, work) => {
    const before = seeEntries(paths, BOUNDS)
    for (const each of before.bytes) bytes.set(each.hash, each.bytes)
    try {
      work()
    } catch {
      // A call that fails may have changed something as well.
    }
    const after = seeEntries([...paths, ...before.entries.keys()], BOUNDS).entries
    const changes = [...new Set([...before.entries.keys(), ...after.keys()])]
      .map((path): PathChange => {
        return { path, before: before.entries.get(path) ?? ABSENT, after: after.get(path) ?? ABSENT }
      })
      .filter((change) => change.after !== null && !isSame(change.before, change.after))
    return { callId: `call-${calls++}`, changes }
  }
}

function carryOut({ lines }: UndoPlan, bytes: ReadonlyMap<string, Uint8Array>): void {
  for (const { path, from, to } of lines) {
    const content = to.kind === 'file' ? (bytes.get(to.hash) ?? null) : null
    expect(putBack({ path, from, to, bytes: content })).toBeNull()
  }
}

function state(): readonly string[] {
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .toSorted()
    .map((name) => {
      const path = join(root, name)
      const stats = lstatSync(path)
      const content = stats.isFile()
        ? readFileSync(path, 'latin1')
        : stats.isSymbolicLink()
          ? readlinkSync(path)
          : ''
      return `${name} ${stats.mode} ${content}`
    })
}

const NAMES = ['a', 'b', 'd/a', 'd/b', 'd/e/a', 'f/a'] as const
const places = fc.constantFrom<string>(...NAMES, 'd', 'd/e', 'f')
const operations = fc.oneof(
  fc.record({ kind: fc.constant('write'), at: places, text: fc.string({ maxLength: 5 }), to: places }),
  fc.record({ kind: fc.constant('delete'), at: places, text: fc.constant(''), to: places }),
  fc.record({ kind: fc.constant('move'), at: places, text: fc.constant(''), to: places }),
  fc.record({
    kind: fc.constant('link'),
    at: places,
    text: fc.string({ minLength: 1, maxLength: 5 }),
    to: places,
  }),
  fc.record({ kind: fc.constant('mode'), at: places, text: fc.constant(''), to: places }),
)
type Operation = typeof operations extends fc.Arbitrary<infer T> ? T : never

function act({ kind, at, text, to }: Operation): void {
  const [path, target] = [join(root, at), join(root, to)]
  const prepare = (): void => void mkdirSync(dirname(path), { recursive: true })
  switch (kind) {
    case 'write':
      prepare()
      return writeFileSync(path, text)
    case 'delete':
      return rmSync(path, { recursive: true })
    case 'move':
      mkdirSync(dirname(target), { recursive: true })
      return renameSync(path, target)
    case 'link':
      prepare()
      // It leads nowhere: calls name paths with links followed, so none writes through one.
      return symlinkSync(`/nowhere/${text.length}`, path)
    case 'mode':
      return chmodSync(path, lstatSync(path).isDirectory() ? 0o700 : 0o600)
  }
}

const emptied = (): void => {
  for (const name of readdirSync(root)) rmSync(join(root, name), { recursive: true })
}

test('H4: whatever calls do to files, undoing all of them gives the first state byte for byte', () => {
  fc.assert(
    fc.property(
      fc.array(operations, { maxLength: 4 }),
      fc.array(operations, { maxLength: 8 }),
      (first, then) => {
        emptied()
        const bytes = new Map<string, Uint8Array>()
        for (const operation of first) record(bytes)([], () => act(operation))
        const start = state()
        const call = record(bytes)
        const steps = then.map((operation) =>
          call([join(root, operation.at), join(root, operation.to)], () => act(operation)),
        )
        const plan = planUndo(steps.toReversed(), false)
        expect(plan.left).toEqual([])
        carryOut(plan, bytes)
        expect(state()).toEqual(start)
        expect(planUndo(steps.toReversed(), false).lines).toEqual([])
      },
    ),
    { numRuns: 300 },
  )
})

test('H4: what a person wrote in between is kept, and whatever else was there comes back', () => {
  const flat = fc.constantFrom('a', 'b', 'c')
  const step = fc.record({ isPerson: fc.boolean(), isWrite: fc.boolean(), at: flat })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), (all) => {
      emptied()
      const bytes = new Map<string, Uint8Array>()
      writeFileSync(join(root, 'a'), 'at first')
      const call = record(bytes)
      const steps: UndoStep[] = []
      const expected = new Map<string, string | null>([
        ['a', 'at first'],
        ['b', null],
        ['c', null],
      ])
      for (const [time, { isPerson, isWrite, at }] of all.entries()) {
        const path = join(root, at)
        const work = (): void => (isWrite ? writeFileSync(path, `${time}`) : rmSync(path, { force: true }))
        if (!isPerson) steps.push(call([path], work))
        else {
          writeFileSync(path, `person ${time}`)
          expected.set(at, `person ${time}`)
        }
      }
      carryOut(planUndo(steps.toReversed(), false), bytes)
      for (const [name, text] of expected) {
        const found = lstatSync(join(root, name), { throwIfNoEntry: false })
        expect(found === undefined ? null : readFileSync(join(root, name), 'utf8')).toBe(text)
      }
    }),
    { numRuns: 300 },
  )
})

test("H4: after a call that was cut off only what is gone comes back; what is there may be somebody else's", () => {
  const bytes = new Map<string, Uint8Array>()
  for (const name of ['gone', 'there', 'same']) writeFileSync(join(root, name), name)
  const paths = ['gone', 'there', 'same'].map((name) => join(root, name))
  const { callId, changes } = record(bytes)(paths, () => {
    for (const path of paths) rmSync(path)
  })
  const cut = [{ callId, changes: changes.map((change) => ({ ...change, after: null })) }]
  writeFileSync(join(root, 'there'), 'mine')
  writeFileSync(join(root, 'same'), 'same')
  const plan = planUndo(cut, false)
  expect(plan.lines.map(({ path }) => path)).toEqual([join(root, 'gone')])
  expect(plan.left).toMatchObject([{ path: join(root, 'there'), isConflict: true }])
  carryOut(plan, bytes)
  expect(readFileSync(join(root, 'gone'), 'utf8')).toBe('gone')
})

test('H4: a path that changed between the look and the step is left', () => {
  writeFileSync(join(root, 'a'), 'seen')
  const [line] = planUndo(
    [
      {
        callId: 'c',
        changes: [
          {
            path: join(root, 'a'),
            before: ABSENT,
            after: seeEntries([join(root, 'a')], BOUNDS).entries.get(join(root, 'a')) ?? null,
          },
        ],
      },
    ],
    false,
  ).lines
  if (line === undefined) throw new Error('nothing to do')
  writeFileSync(join(root, 'a'), 'changed')
  expect(putBack({ ...line, bytes: null })).toBe('it was changed meanwhile')
  rmSync(join(root, 'a'))
  expect(putBack({ ...line, path: join(root, 'never/a'), bytes: null })).toBe('the folder it lay in is gone')
  const seen = { kind: 'folder', mode: 0o755 } as const
  mkdirSync(join(root, 'd/e'), { recursive: true })
  chmodSync(join(root, 'd'), 0o755)
  expect(putBack({ path: join(root, 'd'), from: seen, to: ABSENT, bytes: null })).toBe(
    'it holds what the call did not put there, or what undo does not cover',
  )
})
