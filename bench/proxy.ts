import { setTimeout as sleep } from 'node:timers/promises'
import type { Place } from '../test/fixtures/place.ts'
import type { Connected, Contestant } from './contestants.ts'
import {
  cpuMicroseconds,
  direct,
  directHttp,
  hasPeers,
  kiwi,
  kiwiHttp,
  naive,
  passthrough,
  peers,
  recordingRelay,
  relay,
  rssMb,
} from './contestants.ts'
import type { Figure } from './measure.ts'
import { round, summarize } from './measure.ts'

const CALLS = 300
const AT_ONCE = 16
/** Longer than what it takes until Kiwi rests. */
const REST_MS = 25_000

/** One call of `echo` of the reference server: alone, behind Kiwi, behind what others have built. */
export async function proxy(place: Place, rounds: number): Promise<readonly Figure[]> {
  const contestants = [
    direct,
    kiwi,
    passthrough,
    relay,
    recordingRelay,
    ...naive,
    directHttp,
    kiwiHttp,
    ...(hasPeers ? peers : []),
  ]
  const runs = new Map<Contestant, Run>()
  try {
    for (const contestant of contestants) runs.set(contestant, await open(contestant, place))
    for (let turn = 0; turn <= rounds; turn++) {
      const order = [...runs.values()].map((run) => ({ run, key: Math.random() }))
      for (const { run } of order.toSorted((a, b) => a.key - b.key)) await take(run, turn > 0)
    }
    const busy = shownMemory(runs)
    await sleep(REST_MS)
    return figures(runs, busy)
  } finally {
    await Promise.all([...runs.values()].map(({ connected }) => connected.close()))
  }
}

interface Run {
  readonly connected: Connected
  readonly alone: number[]
  readonly perSecond: number[]
  readonly cpu: number[]
}

async function open(contestant: Contestant, place: Place): Promise<Run> {
  const connected = await contestant.connect(place)
  await connected.call()
  return { connected, alone: [], perSecond: [], cpu: [] }
}

async function take({ connected, alone, perSecond, cpu }: Run, counts: boolean): Promise<void> {
  const before = cpuMicroseconds(connected.pid)
  const times: number[] = []
  for (let turn = 0; turn < CALLS; turn++) {
    const started = performance.now()
    await connected.call()
    times.push(performance.now() - started)
  }
  const used = (cpuMicroseconds(connected.pid) - before) / CALLS
  const started = performance.now()
  let left = CALLS
  const worker = async (): Promise<void> => {
    while (left-- > 0) await connected.call()
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  if (!counts) return
  alone.push(...times)
  cpu.push(used)
  perSecond.push(CALLS / ((performance.now() - started) / 1000))
}

function figures(runs: ReadonlyMap<Contestant, Run>, busy: string): readonly Figure[] {
  const stdio = runs.get(direct)
  const http = runs.get(directHttp)
  if (stdio === undefined || http === undefined) throw new Error('nothing to compare with')
  const row = (contestant: Contestant, id: string, most: number | null): readonly Figure[] => {
    const run = runs.get(contestant)
    if (run === undefined) return []
    const base = contestant === kiwiHttp || peers.includes(contestant) ? http : stdio
    return [figure(contestant.name, run, base, { id, most })]
  }
  return [
    ...row(passthrough, 'B1', 1.4),
    ...row(kiwi, 'B1', null),
    ...row(relay, 'B1', null),
    ...row(recordingRelay, 'B1', null),
    ...naive.flatMap((one) => row(one, 'B1', null)),
    ...row(kiwiHttp, 'B2', 0.6),
    ...peers.flatMap((one) => row(one, 'B2', null)),
    memory(runs, busy),
  ]
}

function figure(
  name: string,
  run: Run,
  base: Run,
  { id, most }: { readonly id: string; readonly most: number | null },
): Figure {
  const [ours, theirs] = [run, base].map(({ alone }) => summarize(alone))
  if (ours === undefined || theirs === undefined) throw new Error('nothing measured')
  return {
    id,
    what: `${name}: one call of echo`,
    how: `p50 of ${CALLS} calls in a row, ${run.perSecond.length} rounds, the SDK's client; ${id === 'B1' ? 'the server itself over stdio' : 'the SDK server over streamable HTTP'} is the denominator`,
    value: round(ours.p50 / theirs.p50),
    unit: 'x',
    detail: `p50 ${round(ours.p50)} ms against ${round(theirs.p50)}; added p10 ${round(ours.p10 - theirs.p10)} ms; ${middle(run.perSecond)} calls/s at ${AT_ONCE}; ${middle(run.cpu)} us of CPU a call`,
    target: most === null ? null : { most },
  }
}

const middle = (values: readonly number[]): number => round(summarize(values).p50)

function memory(runs: ReadonlyMap<Contestant, Run>, busy: string): Figure {
  return {
    id: 'B4',
    what: 'memory with one upstream pooled, after the calls above and a rest',
    how: `resident set of the stdio server, its child not counted, when nothing was sent for ${REST_MS / 1000} s`,
    value: round(rssMb(runs.get(kiwi)?.connected.pid ?? 0)),
    unit: 'MB',
    detail: `${shownMemory(runs)}; right after the calls ${busy}`,
    target: null,
  }
}

function shownMemory(runs: ReadonlyMap<Contestant, Run>): string {
  return [...runs]
    .map(([{ name }, { connected }]) => `${name} ${Math.round(rssMb(connected.pid))}`)
    .join(', ')
}
