import { join } from 'node:path'
import { z } from 'zod'

/** The project's root, seen from the built benchmark in `dist-dev/`. */
export const ROOT = join(import.meta.dirname, '..')

/** One figure: what was measured against what, how, and the target it is held to. */
const Figure = z.object({
  id: z.string(),
  what: z.string(),
  /** Cold or cached, with or without spawn, how many at once. */
  how: z.string(),
  value: z.number(),
  unit: z.enum(['x', 'us', 'ms', 'MB', 'bytes', '/s']),
  /** What the value was divided by, or stands beside. */
  detail: z.string(),
  target: z.object({ most: z.number().optional(), least: z.number().optional() }).nullable(),
})
export type Figure = z.infer<typeof Figure>
export const Figures = z.array(Figure)

export function isMissed({ value, target }: Figure): boolean {
  return (
    (target?.most !== undefined && value > target.most) ||
    (target?.least !== undefined && value < target.least)
  )
}

export interface Sample {
  readonly p10: number
  readonly p50: number
  readonly p95: number
}

export function summarize(values: readonly number[]): Sample {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (part: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN
  return { p10: at(0.1), p50: at(0.5), p95: at(0.95) }
}

/** Runs two contestants in turn, in random order within each round, so that noise hits both alike. */
export async function interleave(rounds: number, ours: Contestant, theirs: Contestant): Promise<Pair> {
  const contestants = [ours, theirs]
  const times = contestants.map((): number[] => [])
  for (const contestant of contestants) await contestant()
  for (let turn = 0; turn < rounds; turn++) {
    const order = contestants.map((_, at) => ({ at, key: Math.random() })).toSorted((a, b) => a.key - b.key)
    for (const { at } of order) times[at]?.push((await contestants[at]?.()) ?? NaN)
  }
  const [first = [], second = []] = times
  return { ours: summarize(first), theirs: summarize(second) }
}

interface Pair {
  readonly ours: Sample
  readonly theirs: Sample
}

type Contestant = () => Promise<number>

/** Milliseconds of one asynchronous run. */
export async function timed(run: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await run()
  return performance.now() - started
}

/** Nanoseconds of one turn of a synchronous function, the best of several batches. */
export function nanoseconds(run: () => unknown, batch = 100_000, batches = 15): number {
  let best = Infinity
  for (let round = 0; round < batches; round++) {
    const started = process.hrtime.bigint()
    for (let turn = 0; turn < batch; turn++) run()
    best = Math.min(best, Number(process.hrtime.bigint() - started) / batch)
  }
  return best
}

export const round = (value: number): number =>
  value >= 100 ? Math.round(value) : Number(value.toPrecision(3))
