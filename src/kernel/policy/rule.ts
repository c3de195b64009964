import type { JsonObject } from '../../shared/json.ts'
import type { Dialect } from '../../spaces/directive/dialect.ts'

/** What a call would do to the world, worked out before it does: each demand is judged by itself. */
export type Demand =
  | {
      readonly op: 'tool'
      readonly id: string
      readonly action: string
      /** The server or group it belongs to, and its name there: two fields, because an id may hold any dot. */
      readonly of?: { readonly server: string; readonly tool: string }
      readonly type?: string
      readonly category?: string
      /** False for an executor that a trusted manifest fixes. */
      readonly isChosen?: boolean
      /** A command that does what the tool does: what only lists tools, and does not name it, says nothing of it. */
      readonly isCommand?: boolean
    }
  | {
      readonly op: 'exec'
      readonly program: string
      /** All of the command, the program first; left out where only the program is known. */
      readonly argv?: readonly string[]
      readonly isChosen?: boolean
      /** What its argv policy has against the command: a grant of the program alone does not cover it. */
      readonly fault?: { readonly reason: string; readonly remedy: string }
      /** It starts what its arguments or files name: interpreters, package managers. */
      readonly runsCode?: boolean
    }
  | { readonly op: 'net'; readonly host: string; readonly method: string; readonly isChosen?: boolean }
  /** The path as the system names it, links followed. */
  | {
      readonly op: 'read' | 'write'
      readonly path: string
      readonly isChosen?: boolean
      /** With all that is in it. */
      readonly isWhole?: true
      /** The file of an item: whoever is granted the action on items is granted it. */
      readonly isItem?: boolean
    }
  | { readonly op: 'spawn'; readonly directive: string }

/*
 * `isChosen`: arguments, or a manifest that no person vouches for, chose it. What a trusted manifest fixes is covered
 * by the grant of the tool in every layer but the base ones.
 */

export type Operation = Demand['op']

export const OPERATIONS = ['tool', 'exec', 'net', 'read', 'write', 'spawn'] as const

/** The action of an upstream that uses the model of whoever calls: it is granted by name, and never by a rule for all actions. */
export const SAMPLE = 'sample'

export type Effect = 'deny' | 'ask' | 'allow'

/** What a rule speaks of, by operation: plain data, so that the layers of a run can be kept. */
export type Match =
  | { readonly kind: 'any' }
  /** What a trusted manifest fixes. */
  | { readonly kind: 'fixed' }
  /** What it does not fix: arguments chose it, or nobody vouches for the manifest. */
  | { readonly kind: 'chosen' }
  /** A program by the last part of its path, or by all of it; `python` also speaks of `python3.11`. */
  | { readonly kind: 'program'; readonly names: readonly string[] }
  /** `rm -rf`: a program with options in any spelling. */
  | { readonly kind: 'command'; readonly patterns: readonly string[] }
  /** A command that begins with exactly these words; it may go on where the last is `*`. */
  | { readonly kind: 'prefix'; readonly words: readonly string[] }
  /** Programs that start what their arguments name. */
  | { readonly kind: 'runs_code' }
  /** Commands that start one of these files, or hand it to what they start. */
  | { readonly kind: 'starts'; readonly files: readonly string[] }
  /** Paths that are one of these or lie below it. */
  | { readonly kind: 'under'; readonly paths: readonly string[] }
  /** Folders that hold one of these: what is done to a folder is done to all that is in it. */
  | { readonly kind: 'around'; readonly paths: readonly string[] }
  /** Paths below the root that fit a glob: `*` within a segment, `**` across them. */
  | { readonly kind: 'path'; readonly root: string; readonly globs: readonly string[] }
  | ToolMatch
  | { readonly kind: 'host'; readonly hosts: readonly string[]; readonly methods?: readonly string[] }
  | { readonly kind: 'directive'; readonly names: readonly string[] }

export interface ToolMatch {
  readonly kind: 'tool'
  /** A glob over servers and groups; null for what belongs to none; left out for all. */
  readonly server?: string | null
  /** Servers and groups it does not speak of. */
  readonly except?: readonly string[]
  /** Globs over the name at the server, or over the id of what belongs to none. */
  readonly tools?: readonly string[]
  readonly types?: readonly string[]
  readonly actions?: readonly string[]
  /** Not commands that do what the tool does. */
  readonly isCalled?: true
}

export interface Rule {
  /** Shown in refusals. */
  readonly id: string
  readonly op: Operation
  readonly match: Match
  /** JSON Schema over the arguments of the call. */
  readonly when?: JsonObject
  readonly effect: Effect
  /** What a person can do about a refusal. */
  readonly remedy: string
  /** It stands for something that its file does not say: what is missing is the remedy. */
  readonly isUnlisted?: true
}

/** Where a layer comes from: it decides what a missing grant looks like, and who can give it. */
export type LayerSource =
  | { readonly kind: 'machine' }
  | {
      readonly kind: 'harness'
      readonly file: string
      readonly place: 'builtin' | 'machine' | 'user' | 'project'
      /** Groups that stand beside internal_tools, and not in it. */
      readonly atTop: readonly ('git' | 'mcps')[]
    }
  | {
      readonly kind: 'directive'
      readonly directive: string
      readonly element: 'permissions' | 'delegate'
      /** How it is written, where that is not XML. */
      readonly dialect?: Dialect
    }
  /** What a directive says it will use, and the names its calls may give to servers. */
  | {
      readonly kind: 'tools'
      readonly directive: string
      readonly aliases: Readonly<Record<string, string>>
      readonly dialect?: Dialect
    }
  /** Tools that were named when a run was begun. */
  | { readonly kind: 'spawn' }

/** A layer as data. */
export interface LayerData {
  readonly name: string
  readonly source: LayerSource
  readonly rules: readonly Rule[]
}

/** What a directive says it will use, as a layer. */
export interface WantedLayer extends LayerData {
  readonly source: Extract<LayerSource, { kind: 'tools' }>
}

/** One named, frozen set of rules, ready to judge. A call needs the consent of every layer. */
export interface Layer extends LayerData {
  /** Of the machine, the user or the project: it judges what trusted manifests fix as well. */
  readonly isBase: boolean
  /** Of all that it says. */
  readonly hash: string
  readonly byOperation: Readonly<Record<Operation, readonly ReadyRule[]>>
}

export interface ReadyRule {
  readonly rule: Rule
  readonly speaksOf: (demand: Demand) => boolean
  /** Whether the condition holds; throws when that cannot be told. Null without a condition. */
  readonly holds: ((parameters: JsonObject) => boolean) | null
}

/** What was decided, by whom, and what can be done about it. */
export interface Verdict {
  readonly effect: Effect
  readonly layer: string
  /** Null: no rule of the layer speaks of the demand, which is a refusal. */
  readonly rule: string | null
  readonly demand: Demand
  readonly remedy: string
  /** The grant that is missing, ready to paste; null where none would help. */
  readonly required: string | null
  /** What speaks against it besides the rule. */
  readonly reason: string | null
}

const MOST_CHARACTERS = 500

/** The thing a demand is about, for messages and records. */
export function resourceOf(demand: Demand): string {
  switch (demand.op) {
    case 'tool':
      return demand.id
    case 'exec':
      return commandOf(demand)
    case 'net':
      return demand.host
    case 'read':
    case 'write':
      return demand.path
    case 'spawn':
      return demand.directive
  }
}

function commandOf({ program, argv = [] }: Extract<Demand, { op: 'exec' }>): string {
  const text = [program, ...argv.slice(1)].join(' ')
  return text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)} ...` : text
}
