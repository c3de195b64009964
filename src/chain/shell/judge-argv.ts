import type { Guard, Program } from '../../primitives/subprocess/command.ts'
import { givesOption } from './argv-options.ts'
import type { ArgvPolicy, Terms } from './argv-policy.ts'

/** What data says about one command. */
export interface JudgedArgv {
  /** Why the name of the program alone does not stand for it; null when it does. */
  readonly fault: { readonly reason: string; readonly remedy: string } | null
  readonly runsCode: boolean
  /** It changes nothing. */
  readonly isReadOnly: boolean
  /** The arguments it is started with, without the program. */
  readonly args: readonly string[]
  /** Arguments that are paths, as they were written. */
  readonly paths: readonly { readonly use: 'read' | 'write'; readonly path: string }[]
  /** Where it works, when an option says so. */
  readonly folder: string | null
  readonly dropEnv: readonly string[]
  /** What has to be asked of the program before it is started. */
  readonly guards: readonly (Omit<Guard, 'program'> & Pick<Program, 'args' | 'env'>)[]
}

/** Judges a command by every policy of its program; without one nothing is known of it. */
export function judgeArgv(policies: readonly ArgvPolicy[], argv: readonly string[]): JudgedArgv {
  const start: JudgedArgv = {
    fault: null,
    runsCode: false,
    isReadOnly: policies.length > 0,
    args: argv.slice(1),
    paths: [],
    folder: null,
    dropEnv: [],
    guards: [],
  }
  return policies.reduce<JudgedArgv>((known, policy) => {
    const judged = judgeBy(policy, argv)
    return {
      fault: known.fault ?? judged.fault,
      runsCode: known.runsCode || judged.runsCode,
      isReadOnly: known.isReadOnly && judged.isReadOnly,
      args: withArguments(known.args, argv.slice(1), judged.args),
      paths: [...known.paths, ...judged.paths],
      folder: known.folder ?? judged.folder,
      dropEnv: [...known.dropEnv, ...policy.drop_env],
      guards: [...known.guards, ...judged.guards],
    }
  }, start)
}

/** The first policy that puts something in decides; a second one only narrows. */
function withArguments(
  known: readonly string[],
  given: readonly string[],
  judged: readonly string[],
): readonly string[] {
  return known.length > given.length ? known : judged
}

function judgeBy(policy: ArgvPolicy, argv: readonly string[]): Omit<JudgedArgv, 'dropEnv'> {
  const [program = '', ...words] = argv
  const lead = leadOf(policy, words)
  const { leading, subcommand, rest } = lead
  const own = subcommand === null ? null : (policy.subcommands?.[subcommand] ?? null)
  const terms: readonly Terms[] = own === null ? [policy] : [policy, own]
  const refusal = lead.fault ?? refusedOption(terms, rest)
  const unknown =
    subcommand !== null && own === null ? `its subcommand "${subcommand}" is not one of the known` : null
  const reason = refusal ?? unknown
  return {
    fault:
      reason === null
        ? null
        : { reason: `${program}: ${reason}`, remedy: remedyOf(policy, unknown !== null) },
    runsCode: terms.some(({ runs_code }) => runs_code),
    isReadOnly: reason === null && terms.some(({ read_only }) => read_only),
    args: [
      ...policy.prefix,
      ...leading,
      ...(subcommand === null ? [] : [subcommand]),
      ...terms.flatMap(({ insert }) => insert),
      ...rest,
    ],
    paths: terms.flatMap((some) => pathsIn(some, rest)),
    folder: lead.folder,
    guards: terms.flatMap(({ guards }) =>
      guards.map(({ args, env, passes_with: passesWith, fails_on: failsOn, reason: why }) => ({
        args: [...policy.prefix, ...leading, ...args],
        env,
        passesWith,
        failsOn,
        reason: why,
      })),
    ),
  }
}

interface Lead {
  readonly fault: string | null
  readonly leading: readonly string[]
  readonly subcommand: string | null
  readonly rest: readonly string[]
  readonly folder: string | null
}

/** What stands before the subcommand: only what data names. A program without subcommands has nothing there. */
export function leadOf(
  { subcommands, leading_options: options }: ArgvPolicy,
  words: readonly string[],
): Lead {
  const none = { fault: null, leading: [], subcommand: null, folder: null }
  if (subcommands === null) return { ...none, rest: words }
  let folder: string | null = null
  let at = 0
  for (let word = words[at]; word?.startsWith('-') === true; word = words[at]) {
    const kind = Object.hasOwn(options, word) ? options[word] : undefined
    if (kind === undefined) {
      return { ...none, fault: `the option "${word}" is not taken before a subcommand`, rest: words }
    }
    if (kind === 'path') folder = words[at + 1] ?? null
    at += kind === 'none' ? 1 : 2
  }
  const subcommand = words[at] ?? null
  return { fault: null, leading: words.slice(0, at), subcommand, rest: words.slice(at + 1), folder }
}

function refusedOption(terms: readonly Terms[], words: readonly string[]): string | null {
  const spelling = {
    known: terms.flatMap(({ known_options }) => known_options),
    valued: terms.flatMap(({ value_options }) => value_options),
  }
  for (const option of terms.flatMap(({ refuse_options }) => refuse_options)) {
    const word = words.find((given) => givesOption(given, option, spelling))
    if (word !== undefined) return `its option ${option} is not taken (in "${word}")`
  }
  return null
}

function remedyOf({ program, subcommands, examples }: ArgvPolicy, isUnknown: boolean): string {
  return isUnknown && subcommands !== null
    ? `Use one of ${Object.keys(subcommands).join(', ')}`
    : `Leave the option out, as in "${(examples.match[0] ?? [program]).join(' ')}"`
}

function pathsIn({ paths, path_options: options }: Terms, words: readonly string[]): JudgedArgv['paths'] {
  const plain = { known: [], valued: [] }
  const values = Object.entries(options).flatMap(([option, use]) =>
    words.flatMap((word, at) => valuesOf(word, words[at + 1], option).map((path) => ({ use, path }))),
  )
  if (paths === null) return values
  const isAll = paths.all_with.some((option) => words.some((word) => givesOption(word, option, plain)))
  const operands = words.filter((word) => word === '-' || !word.startsWith('-')).slice(isAll ? 0 : paths.from)
  const last = operands.length - 1
  return [
    ...values,
    ...operands.map((path, at) => ({ use: at === last ? (paths.last ?? paths.use) : paths.use, path })),
  ]
}

/** `-F file`, `-Ffile`, `--file file`, `--file=file`. */
function valuesOf(word: string, next: string | undefined, option: string): readonly string[] {
  if (!givesOption(word, option, { known: [], valued: [] })) return []
  const equals = word.indexOf('=')
  if (option.startsWith('--'))
    return equals >= 0 ? [word.slice(equals + 1)] : next === undefined ? [] : [next]
  const joined = word.slice(word.indexOf(option.slice(1)) + 1)
  return joined === '' ? (next === undefined ? [] : [next]) : [joined]
}
