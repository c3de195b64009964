/** What a call would do to the world, worked out before it does: each demand is judged by itself. */
export type Demand =
  | { readonly op: 'tool'; readonly id: string; readonly action: string }
  | { readonly op: 'exec'; readonly program: string }
  | { readonly op: 'net'; readonly host: string; readonly method: string }
  | { readonly op: 'write'; readonly path: string }

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
  readonly effect: Effect
  /** What a person can do about a refusal. */
  readonly remedy: string
}

/** One named, frozen set of rules. A call needs the consent of every layer. */
export interface Layer {
  readonly name: string
  readonly rules: readonly Rule[]
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
      return demand.program
    case 'net':
      return demand.host
    case 'write':
      return demand.path
  }
}
