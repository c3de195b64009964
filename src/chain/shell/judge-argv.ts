import type { Guard, Program } from '../../primitives/subprocess/command.ts'
import { givesOption } from './argv-options.ts'
import type { ArgvPath } from './argv-paths.ts'
import { operandsOf, pathsIn } from './argv-paths.ts'
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
  readonly paths: readonly ArgvPath[]
  /** Where it works, when options say so: each from where the one before it leads. */
  readonly folders: readonly string[]
  /** It works on the repository that its folder lies in. */
  readonly isOnRepository: boolean
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
    folders: [],
    isOnRepository: policies.some(({ repository }) => repository),
    dropEnv: [],
    guards: [],
  }
  return policies.reduce<JudgedArgv>((known, policy) => {
    const judged = judgeBy(policy, argv)
    return {
      ...known,
      fault: known.fault ?? judged.fault,
      runsCode: known.runsCode || judged.runsCode,
      isReadOnly: known.isReadOnly && judged.isReadOnly,
      args: withArguments(known.args, argv.slice(1), judged.args),
      paths: [...known.paths, ...judged.paths],
      folders: known.folders.length > 0 ? known.folders : judged.folders,
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

function judgeBy(
  policy: ArgvPolicy,
  argv: readonly string[],
): Omit<JudgedArgv, 'dropEnv' | 'isOnRepository'> {
  const [program = '', ...words] = argv
  const lead = leadOf(policy, words)
  const { leading, subcommand, rest } = lead
  const own = subcommand === null ? null : (policy.subcommands?.[subcommand] ?? null)
  const terms: readonly Terms[] = own === null ? [policy] : [policy, own]
  const operands = operandsOf(
    terms.flatMap(({ value_options }) => value_options),
    rest,
  )
  const refusal = lead.fault ?? refusedOption(terms, rest) ?? refusedOperand(terms, operands)
  const unknown =
    subcommand !== null && own === null ? `its subcommand "${subcommand}" is not one of the known` : null
  const reason = refusal ?? unknown
  const followed = followingOption(terms, rest)
  return {
    fault: faultOf(policy, program, reason ?? followed, unknown !== null),
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
    folders: lead.folders,
    guards: guardsOf(terms, operands).map(({ args, ...guard }) => ({
      ...guard,
      args: [...policy.prefix, ...leading, ...args],
    })),
  }
}

function faultOf(
  policy: ArgvPolicy,
  program: string,
  reason: string | null,
  isUnknown: boolean,
): JudgedArgv['fault'] {
  return reason === null ? null : { reason: `${program}: ${reason}`, remedy: remedyOf(policy, isUnknown) }
}

function guardsOf(terms: readonly Terms[], operands: readonly string[]): JudgedArgv['guards'] {
  return terms
    .flatMap(({ guards }) => guards)
    .filter(({ if_operands: needsOperands }) => !needsOperands || operands.length > 0)
    .map(({ args, env, passes_with: passesWith, fails_on: failsOn, only, reason }) => ({
      args: args.flatMap((word) => (word === '{operands}' ? operands : [word])),
      env,
      passesWith,
      failsOn,
      only,
      reason,
    }))
}

interface Lead {
  readonly fault: string | null
  readonly leading: readonly string[]
  readonly subcommand: string | null
  readonly rest: readonly string[]
  readonly folders: readonly string[]
}

/** What stands before the subcommand: only what data names. A program without subcommands has nothing there. */
export function leadOf(
  { subcommands, leading_options: options }: ArgvPolicy,
  words: readonly string[],
): Lead {
  const none = { fault: null, leading: [], subcommand: null, folders: [] }
  if (subcommands === null) return { ...none, rest: words }
  const folders: string[] = []
  let at = 0
  for (let word = words[at]; word?.startsWith('-') === true; word = words[at]) {
    const kind = Object.hasOwn(options, word) ? options[word] : undefined
    if (kind === undefined) {
      return { ...none, fault: `the option "${word}" is not taken before a subcommand`, rest: words }
    }
    if (kind === 'path') folders.push(words[at + 1] ?? '')
    at += kind === 'none' ? 1 : 2
  }
  const subcommand = words[at] ?? null
  return { fault: null, leading: words.slice(0, at), subcommand, rest: words.slice(at + 1), folders }
}

function refusedOption(terms: readonly Terms[], words: readonly string[]): string | null {
  const found = optionIn(
    terms.flatMap(({ refuse_options }) => refuse_options),
    terms,
    words,
  )
  return found === null ? null : `its option ${found.option} is not taken (in "${found.word}")`
}

function followingOption(terms: readonly Terms[], words: readonly string[]): string | null {
  const found = optionIn(
    terms.flatMap(({ follow_options }) => follow_options),
    terms,
    words,
  )
  return found === null ? null : `its option ${found.option} follows links out of what it is given`
}

/** The first of these options that is given, and the word that gives it. */
function optionIn(
  options: readonly string[],
  terms: readonly Terms[],
  words: readonly string[],
): { readonly option: string; readonly word: string } | null {
  const spelling = {
    known: terms.flatMap(({ known_options }) => known_options),
    valued: terms.flatMap(({ value_options }) => value_options),
  }
  for (const option of options) {
    const word = words.find((given) => givesOption(given, option, spelling))
    if (word !== undefined) return { option, word }
  }
  return null
}

function refusedOperand(terms: readonly Terms[], words: readonly string[]): string | null {
  for (const { operands } of terms) {
    if (operands === null) continue
    if (words.length > operands.most) return `it is given more than ${operands.most} arguments`
    const pattern = new RegExp(`^(?:${operands.pattern})$`, 'u')
    const word = words.find((given) => !pattern.test(given))
    if (word !== undefined) return `its argument "${word}" is not taken`
  }
  return null
}

function remedyOf({ program, subcommands, examples }: ArgvPolicy, isUnknown: boolean): string {
  return isUnknown && subcommands !== null
    ? `Use one of ${Object.keys(subcommands).join(', ')}`
    : `Leave the option out, as in "${(examples.match[0] ?? [program]).join(' ')}"`
}
