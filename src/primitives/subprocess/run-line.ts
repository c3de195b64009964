import type { Stop } from '../../shared/stop.ts'
import type { CommandResult, Program } from './command.ts'
import type { PipelineResult, RunMeans, RunTerms } from './run-pipeline.ts'
import { runPipeline } from './run-pipeline.ts'

/** When a pipeline is started: after a success, after a failure, or in any case. */
type Joint = '&&' | '||' | ';'

/** Pipelines one after the other. The input goes to the first; the time is for all of them together. */
export interface LineCommand extends RunTerms {
  readonly steps: readonly { readonly joint: Joint; readonly programs: readonly Program[] }[]
}

/** What the line came to: all output in order, and the ending of the pipeline that was started last. */
export interface LineResult extends CommandResult {
  /** In the order of the steps: how each program ended; null for a step that was not started. */
  readonly return_codes: readonly (readonly number[] | null)[]
}

export async function runLine(line: LineCommand, means: RunMeans, signal?: Stop): Promise<LineResult> {
  const startedAt = means.clock.monotonic()
  const elapsed = (): number => means.clock.monotonic() - startedAt
  const codes: (readonly number[] | null)[] = []
  const results: PipelineResult[] = []
  let room = line.maxOutputBytes
  for (const { joint, programs } of line.steps) {
    const before = results.at(-1)
    if (before !== undefined && !goesOn(before, joint)) {
      codes.push(null)
      continue
    }
    const terms = {
      ...line,
      input: before === undefined ? line.input : null,
      maxOutputBytes: Math.max(0, room),
    }
    const leftMs = Math.max(0, line.timeoutMs - elapsed())
    const result = await runPipeline(programs, terms, means, { signal, leftMs })
    room -= Buffer.byteLength(result.stdout)
    results.push(result)
    codes.push(result.return_codes)
  }
  return { ...summed(results, Math.round(elapsed())), return_codes: codes }
}

/** What was ended, or could not be started, ends the line, whatever comes after it. */
function goesOn({ success, timed_out, cancelled, failure }: PipelineResult, joint: Joint): boolean {
  if (timed_out || cancelled || failure !== null) return false
  return joint === ';' || success === (joint === '&&')
}

function summed(results: readonly PipelineResult[], durationMs: number): CommandResult {
  const last = results.at(-1)
  return {
    success: last?.success ?? true,
    stdout: results.map(({ stdout }) => stdout).join(''),
    stderr: results.map(({ stderr }) => stderr).join(''),
    return_code: last?.return_code ?? 0,
    duration_ms: durationMs,
    signal: last?.signal ?? null,
    truncated: results.some(({ truncated }) => truncated),
    timed_out: last?.timed_out ?? false,
    cancelled: last?.cancelled ?? false,
    failure: last?.failure ?? null,
  }
}
