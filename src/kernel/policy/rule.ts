import type { JsonObject } from '../../shared/json.ts'

/** What a call would do to the world, worked out before it does: each demand is judged by itself. */
export type Demand =
  | {
      readonly op: 'tool'
      readonly id: string
      readonly action: string
      /** The server or group it belongs to, and its name there: two fields, because an id may hold any dot. */
      readonly of?: { readonly server: string; readonly tool: string }
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
  | { readonly op: 'read' | 'write'; readonly path: string; readonly isChosen?: boolean }
  | { readonly op: 'spawn'; readonly directive: string }

/*
 * `isChosen`: arguments, or a manifest that no person vouches for, chose it. What a trusted manifest fixes is covered
 * by the grant of the tool in every layer but the base ones.
 */

export type Operation = Demand['op']

export type Effect = 'deny' | 'ask' | 'allow'

/** What a rule speaks of, by operation; `any` speaks of every demand of its operation. */
export type Match =
  | { readonly kind: 'any' }
  /** A program by the last part of its path. */
  | { readonly kind: 'program'; readonly names: readonly string[] }
  /** Paths that are one of these or lie below it. */
  | { readonly kind: 'under'; readonly paths: readonly string[] }

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
}

/** One named, frozen set of rules. A call needs the consent of every layer. */
export interface Layer {
  readonly name: string
  readonly rules: readonly Rule[]
  /** Of the machine, the user or the project: it judges what trusted manifests fix as well. */
  readonly isBase: boolean
}

/** What was decided, by whom, and what can be done about it. */
export interface Verdict {
  readonly effect: Effect
  readonly layer: string
  /** Null: no rule of the layer speaks of the demand, which is a refusal. */
  readonly rule: string | null
  readonly demand: Demand
  readonly remedy: string
}

/** The thing a demand is about, for messages and records. */
export function resourceOf(demand: Demand): string {
  switch (demand.op) {
    case 'tool':
      return demand.id
    case 'exec':
      return demand.argv === undefined ? demand.program : [demand.program, ...demand.argv.slice(1)].join(' ')
    case 'net':
      return demand.host
    case 'read':
    case 'write':
      return demand.path
    case 'spawn':
      return demand.directive
  }
}
