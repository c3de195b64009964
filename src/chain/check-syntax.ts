import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, extname, join } from 'node:path'
import type { CommandResult } from '../primitives/subprocess/command.ts'
import type { Subprocess } from '../primitives/subprocess/subprocess.ts'
import type { Environment } from '../config/environment.ts'
import { KiwiError } from '../shared/errors.ts'
import type { ItemFile } from '../store/store.ts'
import { removeFolder } from './drop-oldest.ts'
import type { Finding } from './finding.ts'
import type { SyntaxCheck } from './rules.ts'

export interface SyntaxMeans {
  readonly subprocess: Subprocess
  /** The part of our environment that every child starts from. */
  readonly childEnvironment: Environment
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

/** The programs that the rules start, as far as they are there. */
export function programsOf(rules: readonly SyntaxCheck[], means: SyntaxMeans): readonly string[] {
  return [...new Set(rules.flatMap((rule) => findProgram(rule, means) ?? []))]
}

/**
 * Lets each rule look at each of its files. They lie in a folder that is thrown away, so a checker may write beside
 * them; it starts in an empty one, so nothing of the item is taken for a part of the checker.
 */
export async function checkSyntax(
  rules: readonly SyntaxCheck[],
  item: { readonly entrypoint: string | null; readonly files: readonly ItemFile[] },
  means: SyntaxMeans,
  signal?: AbortSignal,
): Promise<Checked> {
  const root = await mkdtemp(join(tmpdir(), 'kiwi-check-'))
  try {
    const folder = join(root, 'files')
    const cwd = join(root, 'empty')
    await mkdir(cwd)
    for (const { path, content, isExecutable } of item.files) {
      await mkdir(dirname(join(folder, path)), { recursive: true })
      await writeFile(join(folder, path), content, { mode: isExecutable ? 0o755 : 0o644 })
    }
    const checks: (() => Promise<Checked>)[] = []
    for (const rule of rules) {
      const program = findProgram(rule, means)
      if (program === null) checks.push(async () => unchecked(rule))
      else {
        for (const path of pathsOf(rule, item.entrypoint, item.files))
          checks.push(() => checkFile({ rule, program, folder, cwd, path }, means, signal))
      }
    }
    return joined(await inTurn(checks))
  } finally {
    await removeFolder(root)
  }
}

function findProgram({ command: [name = ''] }: SyntaxCheck, means: SyntaxMeans): string | null {
  return means.subprocess.find(name, means.childEnvironment['PATH'] ?? '')
}

/** The files a rule is for; without one to start there is none it could go by. */
function pathsOf(
  { files: names }: SyntaxCheck,
  entrypoint: string | null,
  files: readonly ItemFile[],
): readonly string[] {
  const paths = files.map(({ path }) => path)
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
}

async function checkFile(check: FileCheck, means: SyntaxMeans, signal?: AbortSignal): Promise<Checked> {
  const { rule, program, folder, cwd, path } = check
  const file = join(folder, path)
  const [, ...words] = rule.command
  const args = words.map((word) => word.replaceAll(ENTRYPOINT, file))
  const result = await means.subprocess.run(
    {
      command: program,
      args: words.some((word) => word.includes(ENTRYPOINT)) ? args : [...args, file],
      env: means.childEnvironment,
      cwd,
      input: null,
      timeoutMs: TIMEOUT_MS,
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
  const { type, tool } = rule
  const reason = reasonOf(result).replaceAll(`${folder}/`, '').slice(0, REASON_CHARACTERS)
  return {
    findings: [{ rule: type, tool, path, line: null, reason }],
    warnings: [],
    isLasting: !result.timed_out,
  }
}

function reasonOf({ stdout, stderr, return_code, signal, timed_out }: CommandResult): string {
  if (timed_out) return `its syntax check took longer than ${TIMEOUT_MS / 1000} s`
  const said = stderr.trim() === '' ? stdout.trim() : stderr.trim()
  return said === '' ? `its syntax check ended with ${signal ?? `code ${return_code}`}` : said
}

/** A checker that is not installed is no reason to refuse what it would have looked at. */
function unchecked({ command: [name], tool }: SyntaxCheck): Checked {
  const warning = `the syntax is not checked: "${name}", which "${tool}" names for it, cannot be started`
  return { findings: [], warnings: [warning], isLasting: false }
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
