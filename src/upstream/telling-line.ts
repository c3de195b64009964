/** The line of what a program wrote that says what went wrong; its last one where none does, or ''. */
export function tellingLine(said: string): string {
  const lines = said
    .split('\n')
    .slice(-MOST_LINES)
    .map((line) => line.trimEnd())
    .filter((line) => line !== '' && !NOISE.test(line))
  const line = lines.findLast((each) => FAULT.test(each)) ?? lines.at(-1) ?? ''
  return line.trim().slice(0, LONGEST)
}

const MOST_LINES = 200
const LONGEST = 500

/** What runtimes write around a fault: where it was thrown, of which version they are, where a log is kept. */
const NOISE =
  /^\s+at |^\s*File "|^Node\.js v\d|^Bun v\d|^\s*[\^~}\])]+;?$|^\s*throw\b|complete log of this run|^npm (?:error|ERR!) (?:code|errno|path|syscall)\b/
/** `Error: no such file`, `ModuleNotFoundError: ...`, `[ERROR] ...`, `fatal: ...`, `npm error 404 ...`; not what is indented under it. */
const FAULT =
  /^(?:Uncaught )?(?:[\w.$]*(?:Error|Exception)\b|(?:[\w-]+[: ]+)?[[(]?(?:error|fatal|panic|critical)\b|npm ERR!|thread '.*' panicked)/i
