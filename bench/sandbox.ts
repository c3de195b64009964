import { tmpdir } from 'node:os'
import type { Command } from '../src/primitives/subprocess/command.ts'
import type { SandboxLevel } from '../src/primitives/subprocess/confinement.ts'
import { SANDBOX_LEVELS } from '../src/primitives/subprocess/confinement.ts'
import type { Subprocess } from '../src/primitives/subprocess/subprocess.ts'
import { openSubprocess } from '../src/primitives/subprocess/subprocess.ts'
import { systemClock } from '../src/shared/clock.ts'
import type { Figure } from './measure.ts'
import { interleave, round } from './measure.ts'

/** What a sandbox adds to the start of a program that does nothing. */
export async function sandbox(rounds: number): Promise<readonly Figure[]> {
  const subprocess = openSubprocess({ clock: systemClock })
  try {
    const figures: Figure[] = []
    for (const level of SANDBOX_LEVELS) figures.push(await figureOf(level, rounds, subprocess))
    return figures
  } finally {
    await subprocess.close()
  }
}

async function figureOf(level: SandboxLevel, rounds: number, subprocess: Subprocess): Promise<Figure> {
  const { program, missing } = await subprocess.sandbox()
  const confinement = {
    program,
    level,
    hasNetwork: level !== 'strict',
    hidden: level === 'own' ? [] : ['/tmp'],
    ...NOTHING,
  }
  const timed = (command: Command) => async (): Promise<number> => {
    const started = performance.now()
    await subprocess.run(command)
    return performance.now() - started
  }
  const { ours, theirs } = await interleave(rounds, timed({ ...BARE, confinement }), timed(BARE))
  return {
    id: 'X8',
    what: `what sandbox "${level}" adds to the start of a program`,
    how: missing[level] ?? 'p50 of /bin/true, in turn with the same without one',
    value: round(ours.p50 - theirs.p50),
    unit: 'ms',
    detail: `p50 ${round(ours.p50)} ms against ${round(theirs.p50)} ms`,
    target: null,
  }
}

const NOTHING = { empty: [], sealed: [], read: [], write: [], guarded: [], masked: [], needed: [], links: [] }
const BARE: Command = {
  command: '/bin/true',
  args: [],
  env: {},
  cwd: tmpdir(),
  input: null,
  timeoutMs: 10_000,
  killGraceMs: 0,
  maxOutputBytes: 1000,
  captureOutput: true,
}
