import type { Performed } from '../chain/perform.ts'
import type { ItemRef } from '../shared/ids.ts'
import type { JsonObject } from '../shared/json.ts'
import type { Maybe } from '../shared/maybe.ts'
import type { Report, Talk, Watch } from '../shared/progress.ts'
import type { Redact } from '../shared/redact.ts'
import type { Status } from '../shared/reply.ts'
import type { Stop } from '../shared/stop.ts'
import type { ItemType } from '../shared/tool-type.ts'
import type { Change } from '../spaces/change-item.ts'
import type { Item } from '../spaces/item.ts'
import type { Lookup } from '../spaces/lookup.ts'
import type { ServerEntry } from '../spaces/server-entry.ts'
import type { WrittenItem } from '../spaces/written-item.ts'
import type { Claim } from '../store/approvals.ts'
import type { SpaceName } from '../store/store.ts'
import type { Policy } from './policy/policy.ts'
import type { Demand, Verdict } from './policy/rule.ts'
import type { Run } from './runs.ts'

/** Who calls, and from where. */
export interface Caller {
  readonly principal: string
  readonly session: string
  /** The session this one came from, if it did. */
  readonly parentSession?: string | undefined
  /** An agent, or a person at the command line. */
  readonly kind: 'agent' | 'person'
  /** Several clients have the same session: what one of them does says nothing of the others. */
  readonly isShared?: boolean | undefined
  /**
   * Sees one server whole and speaks the older era: so is the server spoken to, called and listed, over a connection of
   * this session alone.
   */
  readonly isOlder?: boolean | undefined
  /** The revision of the protocol it speaks; none at the command line. */
  readonly protocol?: string | undefined
}

/** A request as it came in: enough to record it, whatever becomes of it. */
export interface Ticket extends Talk {
  readonly callId: string
  /** `execute.run`, `load.copy`, `search`. */
  readonly operation: string
  /** The item as it was asked for. */
  readonly subject: string
  readonly parameters: unknown
  readonly caller: Caller
  /** The run it says it belongs to; left out for a call without a directive. */
  readonly runId?: string | undefined
  readonly signal?: Stop | undefined
  /** Hears what the call is busy with. */
  readonly report?: Report | undefined
}

/** What a request means, once it is understood. */
export type Wish =
  | {
      readonly kind: 'run'
      readonly ref: ItemRef
      readonly itemType: ItemType
      readonly parameters: JsonObject
    }
  /** The end of a run. */
  /** `directive` is whose run it is said to be; null where nothing is said. */
  /** Without a run it is the one that the call is of. */
  | { readonly kind: 'finish'; readonly runId: string | null; readonly directive: string | null }
  | { readonly kind: 'create'; readonly item: NewItem; readonly location: Location }
  | {
      readonly kind: 'update'
      readonly ref: ItemRef
      readonly itemType: ItemType
      readonly location: Location | null
      readonly change: Change
      readonly version: string | null
      readonly changelog: string | null
      /** The content hash it must still have. */
      readonly expectedHash: string | null
    }
  /** One item for each tool that a server has. */
  | { readonly kind: 'discover'; readonly ref: ItemRef; readonly location: 'project' | 'user' }
  | {
      readonly kind: 'publish'
      readonly ref: ItemRef
      readonly itemType: ItemType
      readonly location: Location | null
      readonly version: string | null
      readonly changelog: string | null
    }
  /** A person's: no action of `execute` means it. */
  | { readonly kind: 'rollback'; readonly ref: ItemRef; readonly itemType: ItemType }
  | {
      readonly kind: 'delete'
      readonly ref: ItemRef
      readonly itemType: ItemType
      /** Null: the file space it is found in first, never the registry. */
      readonly source: SpaceName | null
      readonly isConfirmed: boolean
    }
  | {
      readonly kind: 'copy'
      readonly item: Item
      readonly destination: 'project' | 'user'
      readonly overwrite: boolean
    }
  | { readonly kind: 'import'; readonly path: string; readonly to: 'project' | 'user' }
  | { readonly kind: 'undo_import'; readonly batch: string }
  /** Servers of the configs of other clients; none named: where these keep them. */
  | {
      readonly kind: 'import_servers'
      readonly files: readonly string[]
      /** Those whose usual places are looked at; all of them where neither files nor clients are named. */
      readonly clients?: readonly string[]
      readonly to: 'project' | 'user'
    }
  | {
      readonly kind: 'add_server'
      readonly name: string
      readonly entry: ServerEntry
      readonly to: 'project' | 'user'
    }
  /** Null: wherever it is named. */
  | { readonly kind: 'remove_server'; readonly name: string; readonly from: 'project' | 'user' | null }
  /** Kiwi itself into the config of a client. */
  | {
      readonly kind: 'connect'
      /** Null for AGENTS.md alone. */
      readonly client: string | null
      /** How the client starts it. */
      readonly started: { readonly command: string; readonly args: readonly string[] }
      readonly system: string
      readonly to: 'project' | 'user'
      /** Whether a server that only has its name gives way to it. */
      readonly replaces: boolean
      /** Whether AGENTS.md of the project tells about it, too. */
      readonly withAgentsMd: boolean
    }
  /** A call, or all calls of a run or session. */
  | { readonly kind: 'undo'; readonly id: string }
  | {
      readonly kind: 'sign'
      /** One item, or every item whose id or path fits. */
      readonly target: ItemRef | { readonly pattern: string }
      readonly itemType: ItemType
      readonly location: Location | null
      readonly category: string | null
    }
  | { readonly kind: 'trust'; readonly project: string; readonly isRevoked: boolean }
  | {
      readonly kind: 'trust_server'
      /** `server`, or `server.tool`. */
      readonly name: string
      /** What the person was shown; null before that. */
      readonly seen: { readonly identity: string; readonly pins: readonly string[] } | null
    }
  /** Of one call the journal forgets what it was made with. */
  | { readonly kind: 'erase'; readonly callId: string }
  /** What search learnt from uses of an item; null = of all. */
  | { readonly kind: 'forget'; readonly itemId: string | null }
  /** Null: it is taken out of the vault. */
  | { readonly kind: 'secret'; readonly name: string; readonly value: string | null }
  /** A program is to be asked for it. */
  | { readonly kind: 'secret_command'; readonly name: string; readonly argv: readonly string[] }
  | {
      readonly kind: 'grant'
      readonly ref: ItemRef
      readonly names: readonly string[]
      /** Where they may go; none: where the manifest puts them, of a request to the host it writes out. */
      readonly sinks: readonly string[]
      /** Whose calls; `*` = everybody's. */
      readonly principal: string
      /** The content that was looked at. */
      readonly expectedDigest: string | null
    }
  | { readonly kind: 'revoke_grant'; readonly tool: string; readonly name: string | null }
  | {
      readonly kind: 'login'
      readonly ref: ItemRef
      /** Whose calls may use it; `*` = everybody's. */
      readonly principal: string
      /** How the person comes to the page where they log in; null: the login is given back. */
      readonly page: {
        readonly opensBrowser: boolean
        readonly show: (address: string) => void
        readonly confirm?: (issuer: string) => Promise<boolean>
      } | null
    }
  | { readonly kind: 'decide'; readonly answer: Answer }
  /** A request of a client that sees one server whole. */
  | { readonly kind: 'relay'; readonly order: RelayOrder }

/** A request to a server, to be passed on as it is. */
export interface RelayOrder {
  readonly server: ItemRef
  /** Null: what the server says of itself. */
  readonly method: string | null
  readonly params: JsonObject
  /** What the server wants to know is a part of its answer, and the client sends the request again. */
  readonly passesInput: boolean
}

/** What a person says about a call that waits for them. */
export interface Answer {
  readonly approval: string
  /** The seal of the question as it was shown: another one since is a conflict. */
  readonly seen: string
  readonly decision: 'approve' | 'deny'
  readonly scope: 'once' | 'run'
  readonly reason: string | null
  /** The arguments it is approved with, when not those it came with. */
  readonly parameters: JsonObject | null
  /** Where the person said so: at a terminal, in their client, in the console, or by a program that holds the approver's key. */
  readonly channel: 'terminal' | 'client' | 'console' | 'key'
}

export interface Understood {
  readonly wish: Wish
  readonly lookup: Lookup
  /** What the session itself works in, whatever the request names; null for nothing. */
  readonly sessionProject: string | null
  readonly isDryRun: boolean
}

export type Location = 'project' | 'user' | 'registry'

/** An item that somebody wants to exist. */
export interface NewItem {
  readonly id: string
  /** What the path form of its id says, where it has one. */
  readonly category: string | null
  readonly itemType: ItemType
  readonly written: WrittenItem
}

/** An item as it is recorded: null is what is not known of it. */
export interface Link {
  readonly id: string
  readonly version: string | null
  readonly space: string | null
}

/** A wish worked out: what it demands, and how it is done once nothing stands against it. */
export interface Work {
  readonly item: Link
  readonly action: string
  /** What the call runs through, leaf first. */
  readonly chain: readonly Link[]
  readonly demands: readonly Demand[]
  /** A call that was cut off may be made again, so its record need not survive a power cut. */
  readonly isRepeatable: boolean
  /** Search, load or help: answered even where nothing may run. */
  readonly isQuestion?: boolean
  /** A person's no: nothing that is wrong with a policy can stand against it. */
  readonly isRefusal?: boolean
  /** It changes nothing and is shipped with Kiwi, so it may go on when the journal cannot be written. */
  readonly isReadOnly: boolean
  /** What it was asked to do it with; null when that is what the request says. */
  readonly parameters: JsonObject | null
  /** How far what it runs is trusted, for the record. */
  readonly trust?: number
  /** What its programs are held by, for the record. */
  readonly heldBy?: JsonObject
  /** What was decided for calls in its project, where that was needed already: it is judged by the same. */
  readonly policy?: Policy
  /** The content that is run, for what is bound to this very call; left out where nothing is run. */
  readonly digest?: string
  /** How what it changes can be taken back; left out where nothing is changed. */
  readonly undo?: Undo
  /** Why a run cannot be taken back; left out where it can be, or changes nothing. */
  readonly noReturn?: string
  /** What it comes to when it is done: left out, a success. */
  readonly status?: 'ready'
  /** It only gives up what this run may do, so the run has no say in it; it is a call of that run all the same. */
  readonly endsRun?: Run
  /** A part of asking itself: where a layer says ask about it, nobody is asked. */
  readonly ifAsked?: 'pass' | 'refuse'
  /** A file as it would be, where that is known before: a person is shown the difference. */
  readonly change?: { readonly path: string; readonly content: string }
  /** Takes live secrets out of what is recorded and shown of it. */
  readonly redact: Redact
  /** What a dry run shows; with every argument where a person is asked. */
  readonly preview: (isWhole?: boolean) => JsonObject
  readonly warnings: readonly string[]
  readonly perform: (watch?: Watch) => Promise<Performed>
  /** What it found that a person may want to know later, for the record of its end. */
  readonly found?: () => JsonObject
}

/** How what a call changes can be taken back. */
export type Undo =
  /** The bytes of these paths are kept before and compared after. */
  | { readonly tier: 'files'; readonly paths: readonly string[] }
  /** What lies below a folder is kept before and after. */
  | { readonly tier: 'tree'; readonly root: string }
  /** Another call takes it back. */
  | { readonly tier: 'call'; readonly tool: string; readonly parameters: JsonObject }
  | { readonly tier: 'never'; readonly why: string }

/** What a request came to, ready to be judged. */
export interface Arrival {
  readonly work: Work
  /** The project it works in; null outside of one. */
  readonly projectPath: string | null
  readonly isDryRun: boolean
}

/** One call on its way through the gate. The stages fill in what they find out. */
export interface Call {
  readonly ticket: Ticket
  readonly workOut: (call: Call) => Maybe<Arrival>
  work: Work | null
  projectPath: string | null
  /** The project of an agent's session, which binds it wherever it works. */
  sessionProject: string | null
  /** The run it belongs to; null for a call without a directive. */
  run: Run | null
  /** What is decided for calls in its project, the layers of its run among it. */
  policy: Policy | null
  verdict: Verdict | null
  /** The person's yes that lets it through, with the claim that uses it up; or the question it waits for. */
  approval: { readonly id: string; readonly claim: Claim | null } | null
  /** What the checkpoint saw before the effect: the hash of each path it may change, null for none there. */
  seen: ReadonlyMap<string, string | null>
  isDryRun: boolean
  /** How far it came: nobody has let it through, it was let through, and that is on record. */
  decision: 'open' | 'made' | 'recorded'
  readonly warnings: string[]
  /** Takes live secrets out of what is recorded and shown of it: its own, and all that this process knows. */
  redact: Redact
}

export interface Outcome {
  readonly status: Exclude<Status, 'error'>
  readonly data: JsonObject
  readonly itemId: string
  readonly action: string
  readonly chain: readonly string[]
  readonly warnings: readonly string[]
}
