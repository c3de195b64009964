import type { JsonObject } from '../shared/json.ts'
import type { Ask, Notice } from '../shared/progress.ts'
import type { Stop } from '../shared/stop.ts'
import type { Wire } from './wire.ts'

/** An MCP server that Kiwi is a client of, as one caller sees it. */
export interface Upstream {
  /** How people know it. */
  readonly id: string
  /** Equal keys share one connection. */
  readonly key: string
  readonly startupMs: number
  /** How long it is kept when nobody uses it. */
  readonly keepAliveMs: number
  /** What a call waits before it reaches for it again; none where it does not; left out for what is usual. */
  readonly waitsMs?: readonly number[] | undefined
  /** Starts the program, or reaches for the address. Called again when it was lost. */
  readonly open: () => Promise<Wire>
  /** What it said of itself before: spares asking. Only what was said to the same authorisation. */
  readonly prior?: (() => Promise<Description | null>) | undefined
}

/** What an upstream says of itself. */
export interface Description {
  /** `legacy` is opened by `initialize`; `modern` has no opening, and says everything with every request. */
  readonly era: 'legacy' | 'modern'
  readonly protocol: string
  readonly capabilities: JsonObject
  readonly serverInfo: JsonObject
  readonly instructions: string | null
  /** When its era was really asked for, in milliseconds since 1970: a legacy one is asked again after a week. */
  readonly judgedAt: number
}

/** A request on its way to an upstream. */
export interface UpstreamRequest {
  readonly method: string
  readonly params: JsonObject
  /** For wires that have such. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Infinity for one that stays open. */
  readonly timeoutMs: number
  /** When nobody knows whether it was done, it may be sent again. */
  readonly isRepeatable: boolean
  /** Hears, in words, why it is sent again. */
  readonly onResend?: ((why: string) => void) | undefined
  /** It goes out only over a connection over which the tools that are known by this were listed last; over another it fails with `NotListed`, unsent. */
  readonly listed?: string | undefined
  readonly signal?: Stop | undefined
  /** Hears, in words, why something that was asked, perhaps during this request, was passed on to nobody. */
  readonly onRefused?: ((method: string, why: string) => void) | undefined
  /** Who waits for it, such as a session: the upstream's questions are passed on only where one caller can be meant. */
  readonly caller?: string | undefined
  /** Answers what the upstream asks meanwhile. */
  readonly ask?: Ask | undefined
  /** What the caller can answer, as clients declare it to a modern upstream; everything when only `ask` is given. */
  readonly capabilities?: JsonObject | undefined
  /** Hears the log, and what belongs to a subscription that this request opened. */
  readonly tell?: ((notice: Notice) => void) | undefined
  /** Hears `progress`, `total` and `message`; without it none are asked for. */
  readonly progress?: ((params: JsonObject) => void) | undefined
}

/** Something an upstream tells that belongs to no request; `kiwi/restarted` when it was lost and is up again. */
export interface UpstreamNotice {
  readonly key: string
  readonly id: string
  readonly method: string
  readonly params: JsonObject
}

/** How one upstream is doing, for people. */
export interface UpstreamStatus {
  readonly key: string
  readonly id: string
  readonly state: 'opening' | 'open' | 'closed' | 'circuit'
  readonly restarts: number
  readonly lastError: string | null
}
