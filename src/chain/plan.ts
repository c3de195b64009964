import type { JsonObject } from '../shared/json.ts'
import type { ToolType } from '../shared/tool-type.ts'
import type { SpaceName } from '../store/store.ts'
import type { Sent } from '../spaces/definitions/overrides.ts'
import type { Item } from '../spaces/item.ts'
import type { CommandTemplate } from './command-template.ts'
import type { EnvironmentPlan } from './environment-plan.ts'
import type { RequestTemplate } from './request-template.ts'
import type { RuleSet } from './rules.ts'
import type { SandboxWish } from './sandbox.ts'
import type { ServerTemplate } from './server-template.ts'
import type { Check } from './schemas.ts'
import type { LineTerms } from './shell/line-terms.ts'
import type { Trust } from './trust.ts'

/** One link of a plan, leaf first. */
export interface PlanLink {
  readonly depth: number
  readonly tool_id: string
  readonly tool_type: ToolType
  readonly executor_id: string | null
  readonly version: string
  readonly space: SpaceName
}

/** What a plan ends in: a program to start, a request to send, a tool of an MCP server to call, content to hand over, or nothing that runs by itself. */
export type Effect =
  | {
      readonly kind: 'subprocess'
      readonly command: CommandTemplate
      /** What the program needs before it can run; null when that is nothing. */
      readonly environment: EnvironmentPlan | null
    }
  /** The parameters are a command line. */
  | { readonly kind: 'line'; readonly terms: LineTerms }
  | { readonly kind: 'http_client'; readonly request: RequestTemplate }
  | {
      /** A tool of an MCP server, which is the second link; with no tool, the server itself. */
      readonly kind: 'mcp'
      readonly server: ServerTemplate
      readonly toolName: string | null
      /** The tool is nothing but a task: its server goes on with a call after it has answered. */
      readonly isTask: boolean
      readonly startupMs: number
      readonly timeoutMs: number
      readonly keepAliveMs: number
      /** See `Upstream`. */
      readonly waitsMs: readonly number[] | undefined
      /** One connection for each session, since the server remembers what it was told. */
      readonly isPerSession: boolean
      /** Hash of what is started or reached, with nothing filled in: another command or address is another upstream. */
      readonly identity: string
      /** What the overrides of the server do to the arguments; null where they keep the tool from agents. */
      readonly sent: Sent | null
    }
  | { readonly kind: 'content' }
  | { readonly kind: 'none' }

/** A chain resolved, merged, validated and compiled: frozen, so that every call of it can share it. */
export interface Plan {
  readonly item: Item
  /** Everything the chain is made of, leaf first. */
  readonly items: readonly Item[]
  readonly links: readonly PlanLink[]
  readonly chain: readonly string[]
  /** How far what it is made of is trusted; what stands against it is said when it is run. */
  readonly trust: Trust
  readonly config: JsonObject
  /** Whether the item carries files that a run needs on disk. */
  readonly hasFiles: boolean
  readonly effect: Effect
  /** What its programs are to be held by; null when nobody asks for it. */
  readonly sandbox: SandboxWish | null
  /** What the chain says its first item must look like. */
  readonly rules: RuleSet
  /** Checks the parameters and fills in their defaults. */
  readonly checkParameters: Check
  /** Checks what the tool gave back; null when the manifest promises nothing. */
  readonly checkOutput: Check | null
  /** Names the manifests of the chain say they need, or use where credentials stand. */
  readonly secrets: ReadonlySet<string>
  /** Hash of everything in the chain that is not shipped with Kiwi: what a grant is bound to. */
  readonly digest: string
  /** A call changes and sends nothing, and the whole chain is shipped with Kiwi: it may run unrecorded. */
  readonly isReadOnly: boolean
  /** A call that was cut off may be made again. */
  readonly isRepeatable: boolean
  readonly warnings: readonly string[]
}
