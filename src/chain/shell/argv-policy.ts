import { z } from 'zod'
import { IN_WORDS, fieldFaults } from '../../shared/field-faults.ts'
import type { JsonObject } from '../../shared/json.ts'

const Words = z.array(z.string().min(1)).default([])
const Option = z.string().regex(/^-/, 'must begin with "-"')
const Options = z.array(Option).default([])
const PathUse = z.enum(['read', 'write'])

/** The program itself, asked with other arguments whether it may be started: by how it ends and what it writes. */
const Guard = z.strictObject({
  args: Words,
  env: z.record(z.string(), z.string()).default({}),
  passes_with: z.int(),
  fails_on: z.string().min(1).nullable().default(null),
  reason: z.string().min(1),
})

/** What holds for one subcommand, or for a program that has none. */
const Terms = z.strictObject({
  refuse_options: Options,
  known_options: Options,
  value_options: Options,
  /** Arguments that are put behind the subcommand. */
  insert: Words,
  guards: z.array(Guard).default([]),
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
  /** It starts the command that its own arguments are. */
  wraps: z.boolean().default(false),
  /** It reads scripts: after one of these options, or from its input; not where one of the others comes first. */
  script: z.strictObject({ options: Options, not_with: Options }).nullable().default(null),
  /** Spellings of one option. */
  synonyms: z.record(z.string(), z.array(Option).min(2)).default({}),
  examples: z.strictObject({
    match: z.array(z.array(z.string()).min(1)).min(1),
    not_match: z.array(z.array(z.string()).min(1)),
  }),
})

/** What is known of one program: which arguments its name alone stands for. */
export type ArgvPolicy = Readonly<z.infer<typeof Shape>>

/** All programs that data speaks of. Several for one program: a command must suit each. */
export type ArgvPolicies = ReadonlyMap<string, readonly ArgvPolicy[]>

/** The policy that a document says, or what is wrong with it. */
export function readArgvPolicy(document: JsonObject): ArgvPolicy | { readonly wrong: string } {
  const parsed = Shape.safeParse(document, IN_WORDS)
  if (parsed.success) return parsed.data
  const faults = fieldFaults(parsed.error.issues).map(({ name, reason }) => `"${name}" ${reason}`)
  return { wrong: faults.join('; ') }
}
