import { z } from 'zod'
import { isWebAddress } from '../shared/web-address.ts'

const Names = z.array(z.string().min(1).max(1024)).min(1).max(500)
const Bool = z.boolean()

/** What each group of tools and each server may say. */
const Group = z.strictObject({
  enabled: Bool.default(true),
  rate_limit: z.string().optional(),
  /** By the name of a tool, or for the shell of a program. */
  rate_limits: z.record(z.string().min(1).max(1024), z.string()).optional(),
  require_approval: Names.optional(),
  /** Seconds. */
  approval_timeout: z.int().min(1).max(31_536_000).optional(),
})

const Git = Group.extend({ allowed: Names.optional() })
const Servers = z.record(z.string().min(1), Group)

const WebAddress = z.string().refine(isWebAddress, 'is no https address, nor one of http on this machine')

const InternalTools = z.strictObject({
  filesystem: Group.extend({ allowed_paths: Names.optional(), read_only_paths: Names.optional() }).optional(),
  shell: Group.extend({ allowed_commands: Names.optional(), blocked_commands: Names.optional() }).optional(),
  git: Git.optional(),
  mcps: Servers.optional(),
})

const OneOrMore = z.union([
  z
    .string()
    .min(1)
    .max(1024)
    .transform((one) => [one]),
  Names,
])
/** What every rule has besides what it speaks of. */
const common = {
  when: z.record(z.string(), z.json()).optional(),
  effect: z.enum(['allow', 'ask', 'deny']),
  examples: z
    .strictObject({ match: z.array(z.json()).default([]), not_match: z.array(z.json()).default([]) })
    .prefault({}),
}

const ToolRule = z.strictObject({
  op: z.literal('tool'),
  match: z
    .strictObject({
      server: z.string().min(1).optional(),
      tool: OneOrMore.optional(),
      actions: OneOrMore.optional(),
    })
    .prefault({}),
  ...common,
})
const ExecRule = z.strictObject({
  op: z.literal('exec'),
  match: z.strictObject({ program: OneOrMore.optional(), command: OneOrMore.optional() }).prefault({}),
  ...common,
})
const NetRule = z.strictObject({
  op: z.literal('net'),
  match: z.strictObject({ host: OneOrMore.optional(), method: OneOrMore.optional() }).prefault({}),
  ...common,
})
const PathRule = z.strictObject({
  op: z.enum(['read', 'write']),
  match: z.strictObject({ path: OneOrMore.optional() }).prefault({}),
  ...common,
})
const SpawnRule = z.strictObject({
  op: z.literal('spawn'),
  match: z.strictObject({ directive: OneOrMore.optional() }).prefault({}),
  ...common,
})

/** The normal form of a rule, as a person writes it. */
const WrittenRule = z.discriminatedUnion('op', [ToolRule, ExecRule, NetRule, PathRule, SpawnRule])
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
      webhook: WebAddress.optional(),
      slack: WebAddress.optional(),
      email: z.email('is no mail address').optional(),
      desktop: Bool.optional(),
    })
    .prefault({}),
  budgets: z.strictObject({ tool_calls: z.int().min(1).optional() }).prefault({}),
  sandbox: z
    .strictObject({
      level: z.enum(['off', 'fs', 'strict']),
      net: z.enum(['none', 'proxy', 'all']).optional(),
      required: Bool.default(false),
    })
    .optional(),
  secrets: z.enum(['block', 'redact', 'flag']).optional(),
  require_signature: Bool.optional(),
  /** Whether a person is asked about every call that cannot be undone. */
  irreversible: z.enum(['ask', 'allow']).optional(),
})
export type HarnessFile = Readonly<z.infer<typeof HarnessFile>>
