import type { JsonObject } from './json.ts'
import type { Maybe } from './maybe.ts'
import type { Stop } from './stop.ts'

/** What a call is busy with before it has a result. */
export interface Progress {
  readonly message: string
  /** Since the work that takes so long was begun; grows from one report to the next. */
  readonly seconds: number
}

export type Report = (progress: Progress) => void

/** What an upstream and whoever calls have to say to each other while a call runs. */
export interface Talk {
  /** Asks whoever calls what an upstream wants to know of them; fails when they cannot be asked. */
  readonly ask?: Ask | undefined
  /** Passes on what an upstream tells meanwhile: its log, its progress. */
  readonly tell?: ((notice: Notice) => void) | undefined
  /** What can be asked of them, as they declared it: `elicitation`, `sampling`, `roots`. */
  readonly capabilities?: JsonObject | undefined
  /** From which level on they hear the log; left out when they do not. */
  readonly logLevel?: string | undefined
}

/** How whoever waits for a call can end it and hear of it. */
export interface Watch extends Talk {
  readonly signal?: Stop | undefined
  readonly report?: Report | undefined
  /** Who waits for it: what an upstream asks or tells is passed on only where one of them can be meant. */
  readonly waiter?: string | undefined
  /** The hash of each path the call may change, as it was looked at before; null for nothing there. */
  readonly seen?: ReadonlyMap<string, string | null>
  /** Each path as the call names it, and as it was judged: what the system calls it, links followed. */
  readonly paths?: ReadonlyMap<string, string>
  /** Looks again at what an upstream lists, before a tool is called over a connection that was opened after it was listed; fails when the tool may not be called. */
  readonly relist?: (() => Promise<void>) | undefined
  /** What the list is known by that the call was judged by; '' for none. */
  readonly listed?: (() => Maybe<string>) | undefined
  /** Whether something that a look into a folder finds may be read as well. */
  readonly mayRead?: (path: string) => boolean
  /** Whether a host that an answer leads to may be reached as well. */
  readonly mayReach?: MayReach
}

export type MayReach = (host: string, method: string) => boolean

/** `elicitation/create`, `sampling/createMessage` or `roots/list`, as the upstream named `from` sent it. */
export interface AskedOfClient {
  readonly from: string
  readonly method: string
  readonly params: JsonObject
}

export type Ask = (request: AskedOfClient, signal?: Stop) => Promise<JsonObject>

/** `notifications/message` or `notifications/progress`, without the token of who sent it. */
export interface Notice {
  readonly from: string
  readonly method: string
  readonly params: JsonObject
}
