import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { basename, dirname, extname, join } from 'node:path'
import type { CommandResult } from '../primitives/subprocess/command.ts'
import type { Subprocess } from '../primitives/subprocess/subprocess.ts'
import type { Environment } from '../config/environment.ts'
import type { Clock } from '../shared/clock.ts'
import { KiwiError } from '../shared/errors.ts'
import { LIMITS } from '../shared/limits.ts'
import type { Stop } from '../shared/stop.ts'
import type { ItemFile } from '../store/store.ts'
import { dropOldest, removeFolder } from './drop-oldest.ts'
import type { Finding } from './finding.ts'
import type { SyntaxCheck } from './rules.ts'

export interface SyntaxMeans {
  readonly subprocess: Subprocess
  /** The part of our environment that every child starts from. */
  readonly childEnvironment: Environment
  readonly clock: Clock
  /** Where the files are put that are looked at. */
  readonly folder: string
  /** What all checks of an item may take together. */
  readonly deadlineMs: number
}

/** A rule and the program it names, by its path; null when there is no such program. */
export interface PinnedCheck {
  readonly rule: SyntaxCheck
  readonly program: string | null
}

/** What a checker said of the files of an item. */
export interface Checked {
  readonly findings: readonly Finding[]
  readonly warnings: readonly string[]
  /** It would say the same again. */
  readonly isLasting: boolean
}

const TIMEOUT_MS = 20_000
const KEPT_BYTES = 64 * 1024
/** Characters of what a checker wrote. */
const REASON_CHARACTERS = 2000
const AT_ONCE = 2
const ENTRYPOINT = '{entrypoint}'

/** What is judged is what is started: the programs are looked for once. */
export function pinPrograms(rules: readonly SyntaxCheck[], means: SyntaxMeans): readonly PinnedCheck[] {
  const path = means.childEnvironment['PATH'] ?? ''
  return rules.map((rule) => ({ rule, program: means.subprocess.find(rule.command[0] ?? '', path) }))
}

/** What is looked at, and on whose behalf. */
interface Subject {
  readonly entrypoint: string | null
  readonly files: readonly ItemFile[]
  readonly callId: string
}

/** No check takes nearly as long: what is older was left by a process that was killed. */
const LEFT_MS = 60 * 60 * 1000

/**
 * Lets each rule look at each of its files. They lie in a folder that is thrown away, so a checker may write beside
 * them; it starts in an empty one, so nothing of the item is taken for a part of the checker.
 */
export async function checkSyntax(
  pinned: readonly PinnedCheck[],
  item: Subject,
  means: SyntaxMeans,
  signal?: Stop,
): Promise<Checked> {
  const { clock } = means
  const deadline = clock.now() + means.deadlineMs
  await mkdir(means.folder, { recursive: true, mode: 0o700 })
  await dropOldest(means.folder, clock.now(), { most: 0, unusedMs: LEFT_MS })
  const root = await mkdtemp(join(means.folder, 'check-'))
  try {
    const folder = join(root, 'files')
    const cwd = join(root, 'empty')
    await mkdir(cwd)
    for (const { path, content, isExecutable } of item.files) {
      await mkdir(dirname(join(folder, path)), { recursive: true })
      await writeFile(join(folder, path), content, { mode: isExecutable ? 0o755 : 0o644 })
    }
    const checks: (() => Promise<Checked>)[] = []
    for (const { rule, program } of pinned) {
      if (program === null) checks.push(async () => unchecked(rule))
      else {
        const paths = pathsOf(rule, item.entrypoint, item.files)
        const check = { rule, program, folder, cwd, deadline, callId: item.callId }
        for (const path of paths.slice(0, LIMITS.checkedFiles))
          checks.push(() => checkFile({ ...check, path }, means, signal))
        if (paths.length > LIMITS.checkedFiles) checks.push(async () => tooMany(rule, paths.length))
      }
    }
    return joined(await inTurn(checks))
  } finally {
    await removeFolder(root)
  }
}

/** The files a rule is for, what is started first; without one to start there is none it could go by. */
function pathsOf(
  { files: names }: SyntaxCheck,
  entrypoint: string | null,
  files: readonly ItemFile[],
): readonly string[] {
  const paths = files
    .map(({ path }) => path)
    .toSorted((a, b) => Number(b === entrypoint) - Number(a === entrypoint))
  if (names !== null)
    return paths.filter((path) => isNamed(names.includes('/') ? path : basename(path), names))
  if (entrypoint === null) return []
  const ending = extname(entrypoint)
  return paths.filter((path) => path === entrypoint || (ending !== '' && extname(path) === ending))
}

/** `*` is any number of characters. The first place a piece fits is as good as any later one, so there is no way back. */
export function isNamed(name: string, glob: string): boolean {
  const [head = '', ...pieces] = glob.split('*')
  const tail = pieces.pop()
  if (tail === undefined) return name === glob
  let at = head.length
  if (!name.startsWith(head)) return false
  for (const piece of pieces) {
    const found = name.indexOf(piece, at)
    if (found < 0) return false
    at = found + piece.length
  }
  return name.length - tail.length >= at && name.endsWith(tail)
}

interface FileCheck {
  readonly rule: SyntaxCheck
  readonly program: string
  readonly folder: string
  readonly cwd: string
  readonly path: string
  readonly callId: string
  readonly deadline: number
}

async function checkFile(check: FileCheck, means: SyntaxMeans, signal?: Stop): Promise<Checked> {
  const { rule, program, folder, cwd, path, callId, deadline } = check
  const { type, tool } = rule
  const left = deadline - means.clock.now()
  if (left <= 0) {
    const reason = `its syntax is not checked: all checks together took longer than ${means.deadlineMs / 1000} s`
    return { findings: [{ rule: type, tool, path, line: null, reason }], warnings: [], isLasting: false }
  }
  const file = join(folder, path)
  const [, ...words] = rule.command
  const args = words.map((word) => word.replaceAll(ENTRYPOINT, file))
  const result = await means.subprocess.run(
    {
      command: program,
      args: words.some((word) => word.includes(ENTRYPOINT)) ? args : [...args, file],
      // A checker that starts Kiwi would call as the person itself.
      env: { ...means.childEnvironment, KIWI_CALL_ID: callId },
      cwd,
      input: null,
      timeoutMs: Math.min(TIMEOUT_MS, left),
      killGraceMs: 0,
      maxOutputBytes: KEPT_BYTES,
      captureOutput: true,
    },
    signal,
  )
  if (result.success) return joined([])
  if (result.cancelled) throw new KiwiError('CANCELLED', `Cannot check "${path}": it was cancelled`)
  if (result.failure === 'overloaded')
    throw new KiwiError('OVERLOADED', `Cannot check "${path}": too many programs are running`)
  if (result.failure !== null) return unchecked(rule)
  const reason = reasonOf(result).replaceAll(`${folder}/`, '').slice(0, REASON_CHARACTERS)
  return {
    findings: [{ rule: type, tool, path, line: null, reason }],
    warnings: [],
    isLasting: !result.timed_out,
  }
}

function reasonOf({ stdout, stderr, return_code, signal, timed_out }: CommandResult): string {
  if (timed_out) return 'its syntax check took too long'
  const said = stderr.trim() === '' ? stdout.trim() : stderr.trim()
  return said === '' ? `its syntax check ended with ${signal ?? `code ${return_code}`}` : said
}

/** A checker that is not installed is no reason to refuse what it would have looked at. */
function unchecked({ command: [name], tool }: SyntaxCheck): Checked {
  const warning = `the syntax is not checked: "${name}", which "${tool}" names for it, cannot be started`
  return { findings: [], warnings: [warning], isLasting: false }
}

/** To refuse an item for the number of its files is not for a rule to do. */
function tooMany({ command: [name], tool }: SyntaxCheck, files: number): Checked {
  const warning = `"${name}", which "${tool}" names, looked at ${LIMITS.checkedFiles} of ${files} files`
  return { findings: [], warnings: [warning], isLasting: true }
}

function joined(checked: readonly Checked[]): Checked {
  return {
    findings: checked.flatMap(({ findings }) => findings),
    warnings: [...new Set(checked.flatMap(({ warnings }) => warnings))],
    isLasting: checked.every(({ isLasting }) => isLasting),
  }
}

/** A few at once, so that an item of many files leaves room for the runs of others. */
async function inTurn<T>(tasks: readonly (() => Promise<T>)[]): Promise<readonly T[]> {
  const results: T[] = []
  for (let at = 0; at < tasks.length; at += AT_ONCE) {
    results.push(...(await Promise.all(tasks.slice(at, at + AT_ONCE).map((task) => task()))))
  }
  return results
}
