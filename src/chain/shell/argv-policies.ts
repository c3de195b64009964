import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { messageOf } from '../../shared/errors.ts'
import { parseDocument } from '../../spaces/parse-document.ts'
import type { ArgvPolicies, ArgvPolicy } from './argv-policy.ts'
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
    for (const file of await filesIn(folder)) {
      const policy = await readOne(file)
      if ('wrong' in policy) {
        broken.set(basename(file, '.yaml'), `${file}: ${policy.wrong}`)
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
    const names = await readdir(folder)
    return names.filter((name) => name.endsWith('.yaml')).map((name) => join(folder, name))
  } catch {
    return []
  }
}

async function readOne(file: string): Promise<ArgvPolicy | { readonly wrong: string }> {
  try {
    const policy = readArgvPolicy(await parseDocument(await readFile(file, 'utf8'), file))
    return 'wrong' in policy ? policy : (brokenExample(policy) ?? policy)
  } catch (error) {
    return { wrong: messageOf(error) }
  }
}

/** Examples are the tests of a policy, run whenever it is read. */
function brokenExample(policy: ArgvPolicy): { readonly wrong: string } | null {
  const { match, not_match: others } = policy.examples
  const passes = (argv: readonly string[]): boolean => judgeArgv([policy], argv).fault === null
  const wrong = match.find((argv) => !passes(argv)) ?? others.find(passes)
  if (wrong === undefined) return null
  const verb = match.includes(wrong) ? 'is refused' : 'is let pass'
  return { wrong: `its example ${JSON.stringify(wrong)} ${verb}` }
}
