import type { Report } from '../shared/progress.ts'
import { printable } from './terminal.ts'

/** One line on a person's terminal that says what a call is busy with, and is gone when there is a result. */
export interface ProgressLine {
  readonly report: Report
  clear(): void
}

const START_OF_LINE = '\r\u001B[2K'
const FRAMES = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏'
const FRAME_MS = 100

/** Silent where nobody looks: into a file or a pipe, and when the output is for a program. */
export function openProgressLine(
  isWanted: boolean,
  stream: NodeJS.WriteStream = process.stderr,
): ProgressLine {
  if (!isWanted || !stream.isTTY) return { report: () => undefined, clear: () => undefined }
  let message = ''
  let from = 0
  let frame = 0
  let timer: NodeJS.Timeout | null = null
  const draw = (): void => {
    const seconds = Math.floor((performance.now() - from) / 1000)
    const text = `${FRAMES.charAt(frame++ % FRAMES.length)} ${message}${seconds > 0 ? ` ${seconds} s` : ''}`
    stream.write(`${START_OF_LINE}${text.slice(0, (stream.columns || 80) - 1)}`)
  }
  return {
    report(progress) {
      message = printable(progress.message)
      from = performance.now() - progress.seconds * 1000
      timer ??= setInterval(draw, FRAME_MS).unref()
      draw()
    },
    clear() {
      if (timer === null) return
      clearInterval(timer)
      stream.write(START_OF_LINE)
    },
  }
}
