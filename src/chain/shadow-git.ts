import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Subprocess } from '../primitives/subprocess/subprocess.ts'
import type { Environment } from '../config/environment.ts'
import { statOf } from '../spaces/disk.ts'
import type { Shadow } from './shadow.ts'
import { copyIndex } from './shadow.ts'

/** Git, told of nothing but a shadow and one index in it. */
export interface ShadowGit {
  readonly shadow: Shadow
  readonly index: string
  /** Runs it in the work tree. What it prints comes back in parts, as it marks their ends; a failure is thrown. */
  run(args: readonly string[], input?: readonly string[], more?: Environment): Promise<readonly string[]>
  /** Takes over what the project's own git knows of unchanged files, so that they need not be read. */
  seed(): Promise<void>
}

interface GitMeans {
  readonly subprocess: Subprocess
  readonly program: string
  readonly environment: Environment
}

const TIMEOUT_MS = 120_000
const MOST_OUTPUT = 64 * 1024 * 1024

export function openShadowGit(shadow: Shadow, index: string, means: GitMeans): ShadowGit {
  const { subprocess, program, environment } = means
  const { PATH = '', HOME = '/' } = environment
  const isolated = {
    PATH,
    HOME,
    LC_ALL: 'C',
    GIT_DIR: shadow.folder,
    GIT_WORK_TREE: shadow.workTree,
    GIT_INDEX_FILE: index,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_LITERAL_PATHSPECS: '1',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_TERMINAL_PROMPT: '0',
  }
  const start = (args: readonly string[], env: Environment, input: string | null) =>
    subprocess.run({
      command: program,
      args,
      env,
      cwd: shadow.workTree,
      input,
      timeoutMs: TIMEOUT_MS,
      killGraceMs: 1000,
      maxOutputBytes: MOST_OUTPUT,
      captureOutput: true,
    })
  const run: ShadowGit['run'] = async (args, input, more = {}) => {
    const text = input === undefined ? null : input.map((part) => `${part}\0`).join('')
    const { success, stdout, stderr, truncated } = await start(args, { ...isolated, ...more }, text)
    if (!success) throw new Error(`git ${args[0]} failed: ${stderr.trim().slice(-300)}`)
    if (truncated) throw new Error(`git ${args[0]} said more than can be read`)
    return stdout.split('\0').slice(0, -1)
  }
  return {
    shadow,
    index,
    run,
    async seed() {
      const { own, workTree } = shadow
      if (own === null || !copyIndex(own.index, index)) return
      const settings = ['config', '--get-regexp', '^core\\.(autocrlf|attributesfile)$']
      const { stdout } = await start(settings, { PATH, HOME, LC_ALL: 'C' }, null)
      const isSet = stdout.split('\n').some((line) => line !== '' && !line.endsWith(' false'))
      const attributes = (await run(['ls-files', '-z'])).filter((path) => ATTRIBUTES.test(path))
      const files = [own.attributes, ...attributes.map((path) => join(workTree, path))]
      const converts =
        isSet || statOf(join(HOME, '.config/git/attributes')) !== null || files.some(mayConvert)
      // Where git changes bytes on their way, its index does not speak of the bytes that lie there.
      if (converts) rmSync(index)
    },
  }
}

const ATTRIBUTES = /(?:^|\/)\.gitattributes$/

function mayConvert(file: string): boolean {
  try {
    return /text|crlf|eol|filter|ident|encoding|\[attr\]/.test(readFileSync(file, 'utf8'))
  } catch {
    return false
  }
}
