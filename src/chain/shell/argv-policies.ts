import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { KiwiError, errnoOf, messageOf } from '../../shared/errors.ts'
import { parseLocated } from '../../spaces/parse-document.ts'
import type { ArgvPolicies, ArgvPolicy, At } from './argv-policy.ts'
import { readArgvPolicy } from './argv-policy.ts'
import { judgeArgv } from './judge-argv.ts'

/** What is known of programs, and which files were of no use: their programs are not started at all. */
export interface LoadedPolicies {
  readonly policies: ArgvPolicies
  /** By program: why it is not available. */
  readonly broken: ReadonlyMap<string, string>
}

export const NO_POLICIES: LoadedPolicies = { policies: new Map(), broken: new Map() }

export type LoadArgvPolicies = () => Promise<LoadedPolicies>

/**
 * The shipped policies, and those of the user. Both count where they speak of one program, so that a user's file can
 * add a program or narrow one. Read when first needed, and kept.
 */
export function openArgvPolicies(...folders: readonly string[]): LoadArgvPolicies {
  let loaded: Promise<LoadedPolicies> | null = null
  return () => (loaded ??= load(folders))
}

async function load(folders: readonly string[]): Promise<LoadedPolicies> {
  const policies = new Map<string, readonly ArgvPolicy[]>()
  const broken = new Map<string, string>()
  for (const folder of folders) {
    const files = await filesIn(folder)
    const read = await Promise.all(files.map(async (file) => [file, await readOne(file)] as const))
    for (const [file, policy] of read) {
      if ('wrong' in policy) {
        for (const name of policy.of) broken.set(name, `${file}${policy.wrong}`)
        continue
      }
      for (const name of [policy.program, ...policy.also]) {
        policies.set(name, [...(policies.get(name) ?? []), policy])
      }
    }
  }
  return { policies, broken }
}

async function filesIn(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).filter((name) => ENDING.test(name)).map((name) => join(folder, name))
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return []
    // What cannot be looked at might have refused anything.
    throw new KiwiError('POLICY_ERROR', `Cannot read "${folder}": ${messageOf(error)}`, {
      hint: 'A person makes the folder readable, or takes it away, and starts Kiwi again',
      details: { layer: 'argv', rule: null },
      cause: error,
    })
  }
}

const ENDING = /\.ya?ml$/

/** What is wrong with a file, and the programs that it may have spoken of. */
interface Broken {
  readonly wrong: string
  readonly of: ReadonlySet<string>
}

async function readOne(file: string): Promise<ArgvPolicy | Broken> {
  const names = [basename(file).replace(ENDING, '')]
  let text = ''
  try {
    text = await readFile(file, 'utf8')
    if (!file.endsWith('.yaml')) throw new Error('it is not read: call it .yaml')
    const { value, at } = await parseLocated(text, file)
    const policy = readArgvPolicy(value, at)
    if ('wrong' in policy) return { wrong: policy.wrong, of: spokenOf(names, text) }
    const wrong = brokenExample(policy, at)
    return wrong === null ? policy : { wrong, of: spokenOf(names, text) }
  } catch (error) {
    return { wrong: `: ${messageOf(error)}`, of: spokenOf(names, text) }
  }
}

/** By its name, and by what it says itself, as far as that can be told of a file that is not as it must be. */
function spokenOf(names: readonly string[], text: string): ReadonlySet<string> {
  const said = [...text.matchAll(/^(?:program|also)\s*:(.*(?:\n\s*-.*)*)/gm)]
  return new Set([...names, ...said.flatMap(([, value = '']) => value.match(/\w[^\s,'"[\]]*/g) ?? [])])
}

/** Examples are the tests of a policy, run whenever it is read. */
function brokenExample(policy: ArgvPolicy, at: At): string | null {
  const { match, not_match: others } = policy.examples
  const passes = (argv: readonly string[]): boolean => judgeArgv([policy], argv).fault === null
  const wrong = match.find((argv) => !passes(argv)) ?? others.find(passes)
  if (wrong === undefined) return null
  const [list, verb] = match.includes(wrong) ? ['match', 'is refused'] : ['not_match', 'is let pass']
  const index = (list === 'match' ? match : others).indexOf(wrong)
  const { line, column } = at(['examples', list, index])
  return `:${line}:${column}: its example ${JSON.stringify(wrong)} ${verb}`
}
