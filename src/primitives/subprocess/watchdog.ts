import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { Socket } from 'node:net'
import { PROCESS_MARK } from '../../config/environment.ts'
import { within } from './within.ts'

/** A small shell that outlives us by a moment: when its input ends, it ends every child we left behind. */
export interface Watchdog {
  /** To be called before the first child starts. */
  wake(): void
  add(group: number): void
  remove(group: number): void
  close(): Promise<void>
}

/**
 * Reads "+ group" and "- group" until we are gone. Groups first; then, where there is /proc, whatever carries our
 * mark. `kill -s KILL --` is the one form that all shells read alike.
 */
const SCRIPT = `
trap '' HUP INT TERM
groups=' '
while read -r sign group; do
  case $sign in
    +) groups="$groups$group " ;;
    -) case $groups in *" $group "*) groups="\${groups%% $group *} \${groups#* $group }" ;; esac ;;
  esac
done
for group in $groups; do kill -s KILL -- "-$group"; done
for reading in 1 2 3 4 5 6 7 8 9 10; do
  found=
  for file in $(grep -lF -e "$1" /proc/[0-9]*/environ); do
    pid=\${file#/proc/}
    kill -s KILL -- "\${pid%/environ}" && found=yes
  done
  test "$found" || break
done
`

const MAX_STARTS = 5
const CLOSE_WAIT_MS = 2000

/** Where a mark finds a child too, only one that lives this long is told: most are gone before. */
const TELL_AFTER_MS = process.platform === 'linux' ? 50 : 0

export function openWatchdog(instance: string): Watchdog {
  const groups = new Set<number>()
  const untold = new Set<number>()
  let telling: NodeJS.Timeout | null = null
  let shell: ChildProcess | null = null
  let starts = 0
  let left = ''

  const start = (): void => {
    if (shell !== null || starts >= MAX_STARTS) return
    starts++
    const started = startShell(instance)
    const forget = (): void => {
      if (shell === started) shell = null
    }
    started?.once('error', forget)
    started?.once('exit', forget)
    shell = started
    left = ''
    for (const group of groups) untold.add(group)
    tell()
  }

  const tell = (): void => {
    telling = null
    const lines = Array.from(untold, (group) => `+ ${group}\n`).join('')
    untold.clear()
    if (left + lines !== '') shell?.stdin?.write(left + lines)
    left = ''
  }

  return {
    wake: start,
    add(group) {
      start()
      groups.add(group)
      untold.add(group)
      if (TELL_AFTER_MS === 0) tell()
      else telling ??= setTimeout(tell, TELL_AFTER_MS).unref()
    },
    // Told in the next turn at the latest: later the id may be another's.
    remove(group) {
      groups.delete(group)
      if (untold.delete(group)) return
      if (left === '') setImmediate(tell)
      left += `- ${group}\n`
    },
    async close() {
      starts = MAX_STARTS
      const last = shell
      if (last === null) return
      const gone = new Promise((resolve) => {
        last.once('exit', resolve)
      })
      last.stdin?.end()
      await within(gone, CLOSE_WAIT_MS)
    },
  }
}

/** Null where there is no such shell: then children are only ended by us. */
function startShell(instance: string): ChildProcess | null {
  try {
    const shell = spawn('/bin/sh', ['-c', SCRIPT, 'kiwi-watchdog', `${PROCESS_MARK}=${instance}.`], {
      cwd: '/',
      env: { NODE_V8_COVERAGE: undefined, PATH: '/usr/bin:/bin', LC_ALL: 'C' },
      stdio: ['pipe', 'ignore', 'ignore'],
      // A session of its own: a Ctrl-C that is meant for us must not reach it.
      detached: true,
      windowsHide: true,
    })
    shell.stdin?.on('error', () => undefined)
    shell.unref()
    if (shell.stdin instanceof Socket) shell.stdin.unref()
    return shell
  } catch {
    return null
  }
}
