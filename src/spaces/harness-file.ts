import { z } from 'zod'

const Names = z.array(z.string().min(1).max(1024)).min(1).max(500)
const Bool = z.boolean()

/** What each group of tools and each server may say. */
const Group = z.strictObject({
  enabled: Bool.default(true),
  rate_limit: z.string().optional(),
  require_approval: Names.optional(),
  /** Seconds. */
  approval_timeout: z.int().min(1).max(31_536_000).optional(),
})

const Git = Group.extend({ allowed: Names.optional() })
const Servers = z.record(z.string().min(1), Group)

const InternalTools = z.strictObject({
  filesystem: Group.extend({ allowed_paths: Names.optional(), read_only_paths: Names.optional() }).optional(),
  shell: Group.extend({ allowed_commands: Names.optional(), blocked_commands: Names.optional() }).optional(),
  git: Git.optional(),
  mcps: Servers.optional(),
})

const OneOrMore = z.union([z.string().min(1).max(1024).transform((one) => [one]), Names])
const effect = z.enum(['allow', 'ask', 'deny'])
const when = z.record(z.string(), z.json()).optional()
const Examples = z
  .strictObject({ match: z.array(z.json()).default([]), not_match: z.array(z.json()).default([]) })
  .optional()

const ruleOf = <Op extends string, Match extends z.ZodRawShape>(ops: readonly Op[], match: Match) =>
  z.strictObject({
    op: z.enum(ops),
    match: z.strictObject(match).optional(),
    when,
    effect,
    examples: Examples,
  })

/** The normal form of a rule, as a person writes it. */
const WrittenRule = z.discriminatedUnion('op', [
  ruleOf(['tool'], {
    server: z.string().min(1).optional(),
    tool: OneOrMore.optional(),
    actions: OneOrMore.optional(),
  }),
  ruleOf(['exec'], { program: OneOrMore.optional(), command: OneOrMore.optional() }),
  ruleOf(['net'], { host: OneOrMore.optional(), method: OneOrMore.optional() }),
  ruleOf(['read', 'write'], { path: OneOrMore.optional() }),
  ruleOf(['spawn'], { directive: OneOrMore.optional() }),
])
export type WrittenRule = z.infer<typeof WrittenRule>

/** All keys of `agent_harness.yaml`. Its being there means proxy mode, unless it says otherwise. */
export const HarnessFile = z.strictObject({
  mode: z.enum(['proxy', 'direct', 'hybrid']).default('proxy'),
  /** What the agent's own client may have besides Kiwi: told, not enforced. */
  allowed_mcps: z.array(z.string().min(1)).max(500).optional(),
  internal_tools: InternalTools.prefault({}),
  /** The same as within internal_tools. */
  mcps: Servers.optional(),
  git: Git.optional(),
  rules: z.array(WrittenRule).max(1000).default([]),
  notify: z
    .strictObject({
      webhook: z.url().optional(),
      slack: z.url().optional(),
      email: z.email().optional(),
      desktop: Bool.optional(),
    })
    .prefault({}),
  budgets: z.strictObject({ tool_calls: z.int().min(1).optional() }).prefault({}),
  sandbox: z.strictObject({ level: z.enum(['off', 'fs', 'strict']), required: Bool.default(false) }).optional(),
  secrets: z.enum(['block', 'redact', 'flag']).optional(),
  require_signature: Bool.optional(),
})
export type HarnessFile = Readonly<z.infer<typeof HarnessFile>>
