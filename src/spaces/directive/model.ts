import type { JsonObject, JsonValue } from '../../shared/json.ts'
import type { Dialect } from './dialect.ts'
import type { Element } from './element.ts'

/** A directive as every dialect means it: what to do, with which tools, under which rights. */
export interface Directive {
  readonly name: string
  readonly version: string
  readonly description: string
  readonly category: string | null
  readonly dialect: Dialect
  /** The directive it is built on. */
  readonly extends: string | null
  readonly inputs: readonly DirectiveInput[]
  readonly steps: readonly Step[]
  /** Text beside the steps: the instructions of one that has none. */
  readonly body: string
  /** Its `<permissions>`, in whichever dialect they were written; null when it has none, which grants nothing. */
  readonly permissions: Element | null
  readonly wanted: WantedTools
  readonly relations: readonly Relation[]
  readonly limits: JsonObject
  /** Model, outputs, context, hooks and what else its author wrote: kept, and shown to who follows it. */
  readonly more: JsonObject
  /** What of it means nothing or was read as something else; nothing of this stops it. */
  readonly findings: readonly Finding[]
}

export interface DirectiveInput {
  readonly name: string
  readonly type: 'string' | 'number' | 'integer' | 'boolean' | 'array' | 'object'
  readonly required: boolean
  readonly default?: JsonValue
  readonly enum?: readonly JsonValue[]
  readonly description: string
  /** What else JSON Schema can say of it. */
  readonly schema?: JsonObject
}

export interface Step {
  readonly name: string | null
  readonly condition: string | null
  readonly description: string | null
  readonly action: string | null
  readonly calls: readonly ToolCall[]
}

/** A call in its one form: `server.tool`, the id of a tool, or one of the four tools by its name, such as `search`. */
export interface ToolCall {
  readonly tool: string
  readonly parameters: JsonObject
}

/** What its author expects to use: no right by itself. */
export interface WantedTools {
  readonly servers: readonly WantedServer[]
  readonly scripts: readonly string[]
  readonly filesystem: { readonly read: readonly string[]; readonly write: readonly string[] } | null
  readonly shell: readonly string[] | null
  readonly kiwi: Readonly<Record<string, readonly string[]>> | null
}

export interface WantedServer {
  readonly name: string
  readonly required: boolean
  readonly alias: string | null
  readonly proxy: boolean
  readonly refresh: boolean
  /** Null for all of them. */
  readonly tools: readonly string[] | null
  /** Why it is wanted, in its author's words. */
  readonly why: string
  readonly line: number
  /** It stands in `<mcps>`. */
  readonly isOfMcps?: true
}

export interface Relation {
  readonly kind: 'requires' | 'suggests' | 'extends' | 'related'
  readonly directive: string
}

export interface Finding {
  readonly line: number
  readonly column: number
  readonly message: string
  /** The placeholder that it is about: a directive it is built on may have the input. */
  readonly unfilled?: string
}

/** Whether whoever is handed it has nothing to do. */
export function isEmpty({ steps, body }: Directive): boolean {
  return steps.length === 0 && body.trim() === ''
}

export const NOTHING_TO_FOLLOW = 'it has neither steps nor a text: there is nothing to follow'
