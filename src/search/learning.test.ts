import { expect, test } from 'vitest'
import type { Limits } from '../store/limits.ts'
import type { NewUse, PastSearch, Uses } from '../store/uses.ts'
import { createLog } from '../shared/log.ts'
import { openLearning } from './learning.ts'

interface Bench {
  readonly learning: ReturnType<typeof openLearning>
  readonly credited: NewUse[]
  readonly lines: string[]
  readonly pass: (minutes: number) => void
}

function bench(credit?: () => Promise<void>, past: PastSearch[] = []): Bench {
  let now = 1_760_000_000_000
  const credited: NewUse[] = []
  const lines: string[] = []
  const uses: Uses = {
    credit: credit ?? (async (batch) => void credited.push(...batch)),
    like: () => Promise.reject(new Error('no store')),
    read: async () => [],
    remember: async (search) => void past.unshift(search),
    recall: async ({ principal, project }) =>
      past.filter((one) => one.principal === principal && one.project === project),
    forget: async () => 0,
  }
  const taken: { key: string; at: number }[] = []
  const limits: Pick<Limits, 'take'> = {
    async take(windows) {
      const full = windows.find(
        ({ key, count, windowMs }) =>
          taken.filter((one) => one.key === key && one.at > now - windowMs).length >= count,
      )
      if (full === undefined) taken.push(...windows.map(({ key }) => ({ key, at: now })))
      return full === undefined ? null : { ...full, used: full.count, retryAfterMs: 1 }
    },
  }
  const clock = { now: () => now, monotonic: () => now }
  const log = createLog({ level: 'warn', clock, write: (line) => void lines.push(line) })
  return {
    learning: openLearning({ uses, limits, clock, log }),
    credited,
    lines,
    pass: (minutes) => void (now += minutes * 60_000),
  }
}

const me = { principal: 'local', session: 's1' }
const SHIP = { row: 7, item_id: 'ship' }

test('S3: what a session was shown and then ran is credited to the words of its search', async () => {
  const { learning, credited } = bench()
  learning.shown(me, 'deploy the site', [SHIP, { row: 8, item_id: 'sail' }])
  learning.shown(me, 'something else', [{ row: 9, item_id: 'other' }])
  learning.used(me, 'ship')
  learning.used(me, 'unknown')
  await learning.close()
  expect(credited).toEqual([{ row: 7, item_id: 'ship', words: ['deploy', 'sit'] }])
})

test('S3: the very next search finds it written', async () => {
  const { learning, credited } = bench()
  learning.shown(me, 'deploy', [SHIP])
  learning.used(me, 'ship')
  await learning.rankings('anything', [])
  expect(credited).toHaveLength(1)
})

test('S3: not to another session, nor after a while, nor for a search that holds a secret', async () => {
  const { learning, credited, pass } = bench()
  learning.shown(me, 'deploy', [SHIP])
  learning.used({ ...me, session: 's2' }, 'ship')
  learning.used({ ...me, principal: 'bearer' }, 'ship')
  pass(11)
  learning.used(me, 'ship')
  learning.shown(me, 'deploy with password hunter', [SHIP])
  learning.used(me, 'ship')
  await learning.close()
  expect(credited).toEqual([])
})

test('S3: however often a principal repeats a use, in whichever session, it counts once an hour; and so many in all', async () => {
  const { learning, credited, pass } = bench()
  for (let n = 0; n < 50; n++) {
    learning.shown({ ...me, session: `s${n}` }, 'deploy', [SHIP])
    learning.used({ ...me, session: `s${n}` }, 'ship')
  }
  await learning.close()
  expect(credited).toHaveLength(1)
  for (let n = 0; n < 500; n++) {
    const query = `deploy ${String.fromCodePoint(0x4e00 + n)}x`
    learning.shown(me, query, [SHIP])
    learning.used(me, 'ship')
    if (n % 100 === 0) await learning.close()
  }
  await learning.close()
  expect(credited).toHaveLength(60)
  pass(61)
  learning.shown(me, 'deploy', [SHIP])
  learning.used(me, 'ship')
  await learning.close()
  expect(credited).toHaveLength(61)
})

test('S3: of many sessions and searches the latest are remembered', async () => {
  const { learning, credited } = bench()
  for (let n = 0; n < 1000; n++) learning.shown({ ...me, principal: `p${n}` }, 'deploy', [SHIP])
  for (let n = 0; n < 1000; n++) learning.used({ ...me, principal: `p${n}` }, 'ship')
  await learning.close()
  expect(credited).toHaveLength(200)
})

test('S3: a store that takes and gives nothing is logged, and nobody hears of it', async () => {
  const { learning, lines } = bench(() => Promise.reject(new Error('disk full')))
  learning.shown(me, 'deploy', [SHIP])
  learning.used(me, 'ship')
  await learning.close()
  expect(await learning.rankings('deploy', [])).toEqual([])
  expect(lines.map((line) => JSON.parse(line).event)).toEqual(['learning.unwritable', 'learning.unreadable'])
})

const person = (session: string): Parameters<ReturnType<typeof openLearning>['used']>[0] => ({
  principal: 'user:ada',
  session,
  kind: 'person',
})
const at = (project: string | null) => () => Promise.resolve(project)

test('S3: what a person found with one command counts for the next in the same project, and for nobody else', async () => {
  const past: PastSearch[] = []
  const first = bench(undefined, past)
  first.learning.shown(person('one'), 'deploy the site', [SHIP], at('/p'))
  await first.learning.close()
  expect(past).toEqual([
    { principal: 'user:ada', project: '/p', words: ['deploy', 'sit'], items: new Map([['ship', 7]]) },
  ])
  const { learning, credited } = bench(undefined, past)
  learning.used(person('two'), 'ship', at('/q'))
  learning.used({ ...person('two'), principal: 'user:bob' }, 'ship', at('/p'))
  learning.used({ ...person('two'), kind: 'agent' }, 'ship', at('/p'))
  learning.used(person('two'), 'sail', at('/p'))
  await learning.close()
  expect(credited).toEqual([])
  const third = bench(undefined, past)
  third.learning.used(person('two'), 'ship', at('/p'))
  await third.learning.close()
  expect(third.credited).toEqual([{ row: 7, item_id: 'ship', words: ['deploy', 'sit'] }])
})

test('S3: of an agent, and of words that may be a secret, no search is kept', async () => {
  const past: PastSearch[] = []
  const { learning } = bench(undefined, past)
  learning.shown({ ...person('one'), kind: 'agent' }, 'deploy the site', [SHIP], at('/p'))
  learning.shown(person('one'), 'my password is hunter', [SHIP], at('/p'))
  learning.shown(person('one'), 'deploy', [], at('/p'))
  await learning.close()
  expect(past).toEqual([])
})

test('S3: a store that cannot keep a search, or a project that cannot be told, stops nothing', async () => {
  const { learning, credited, lines } = bench()
  const lost = (): Promise<string | null> => Promise.reject(new Error('no project'))
  learning.shown(person('one'), 'deploy', [SHIP], lost)
  learning.used(person('two'), 'ship', lost)
  learning.used(person('one'), 'ship', lost)
  await learning.close()
  expect(credited).toHaveLength(1)
  expect(lines.join('\n')).toContain('no project')
})
