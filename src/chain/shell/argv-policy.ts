import { z } from 'zod'
import { IN_WORDS, fieldFaults } from '../../shared/field-faults.ts'
import type { JsonObject } from '../../shared/json.ts'

const Words = z.array(z.string().min(1)).default([])
const Option = z.string().regex(/^-/, 'must begin with "-"')
const Options = z.array(Option).default([])
const PathUse = z.enum(['read', 'write'])

/** A regular expression. */
const Pattern = z.string().refine((text) => {
  try {
    return new RegExp(text, 'u').source !== ''
  } catch {
    return false
  }
}, 'must be a regular expression')

/**
 * The program itself, asked with other arguments whether it may be started: by how it ends and what it writes. An
 * argument `{operands}` stands for the operands of the command.
 */
const Guard = z.strictObject({
  args: Words,
  env: z.record(z.string(), z.string()).default({}),
  passes_with: z.int(),
  fails_on: z.string().min(1).nullable().default(null),
  /** What every line of its output must be, each a regular expression for all of it; left out where any line will do. */
  only: z.array(Pattern).nullable().default(null),
  /** Asked only of a command that has operands. */
  if_operands: z.boolean().default(false),
  reason: z.string().min(1),
})

/** What holds for one subcommand, or for a program that has none. */
const Terms = z.strictObject({
  refuse_options: Options,
  /** By these it follows every link that it comes across: what it would read, nobody can tell. */
  follow_options: Options,
  known_options: Options,
  value_options: Options,
  /** Arguments that are put behind the subcommand. */
  insert: Words,
  guards: z.array(Guard).default([]),
  /** Only so many operands, and only such: what a guard asks about has to be what the command does. */
  operands: z
    .strictObject({ most: z.int().min(0), pattern: Pattern })
    .nullable()
    .default(null),
  read_only: z.boolean().default(false),
  runs_code: z.boolean().default(false),
  /**
   * Arguments that are paths, from the given one on; from the first where one of `all_with` is among the options.
   * The last may be used in another way than the others.
   */
  paths: z
    .strictObject({
      use: PathUse,
      last: PathUse.optional(),
      from: z.int().min(0).default(0),
      all_with: Options,
      /** The others are put where the last is: into it by their names, when it is a folder. */
      into: z.boolean().default(false),
      /** What it is given it takes whole, with all that is in a folder: always, or with one of these options. */
      whole: z.boolean().default(false),
      whole_with: Options,
    })
    .nullable()
    .default(null),
  /** Options whose value is a path. */
  path_options: z.record(Option, PathUse).default({}),
})
export type Terms = z.infer<typeof Terms>

const Shape = Terms.extend({
  program: z.string().regex(/^[^/\s]+$/),
  also: Words,
  /** Only these are known; left out where the program has no subcommands. */
  subcommands: z.record(z.string(), Terms.prefault({})).nullable().default(null),
  /** Only these may stand before the subcommand. */
  leading_options: z.record(Option, z.enum(['none', 'value', 'path'])).default({}),
  /** Arguments that are put before all others. */
  prefix: Words,
  /** Variables that are not passed on to it; a trailing `*` stands for any end. */
  drop_env: Words,
  /** It works on the git repository that its folder lies in: what of that is outside of the project is judged as well. */
  repository: z.boolean().default(false),
  /** It starts the command that its own arguments are. */
  wraps: z.boolean().default(false),
  /** It reads scripts: after one of these options, or from its input; not where one of the others comes first. */
  script: z.strictObject({ options: Options, not_with: Options }).nullable().default(null),
  /** Spellings of one option; `+*` is a word that begins with a plus. */
  synonyms: z.record(z.string(), z.array(z.union([Option, z.literal('+*')])).min(2)).default({}),
  examples: z.strictObject({
    match: z.array(z.array(z.string()).min(1)).min(1),
    not_match: z.array(z.array(z.string()).min(1)),
  }),
})

/** What is known of one program: which arguments its name alone stands for. */
export type ArgvPolicy = Readonly<z.infer<typeof Shape>>

/** All programs that data speaks of. Several for one program: a command must suit each. */
export type ArgvPolicies = ReadonlyMap<string, readonly ArgvPolicy[]>

/** Where in its file something stands. */
export type At = (path: readonly PropertyKey[]) => { readonly line: number; readonly column: number }

/** The policy that a document says, or what is wrong with it, each with its place. */
export function readArgvPolicy(document: JsonObject, at: At): ArgvPolicy | { readonly wrong: string } {
  const parsed = Shape.safeParse(document, IN_WORDS)
  if (parsed.success) return parsed.data
  const faults = parsed.error.issues.map((issue) => {
    const [{ name, reason } = { name: '', reason: '' }] = fieldFaults([issue])
    const unknown = issue.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : []
    const { line, column } = at([...issue.path, ...unknown])
    return `:${line}:${column}: ${name === '' ? 'it' : `"${name}"`} ${reason}`
  })
  return { wrong: faults.join('; ') }
}
