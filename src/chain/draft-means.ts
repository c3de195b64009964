import type { Config } from '../config/config.ts'
import type { Environment } from '../config/environment.ts'
import type { JsonObject } from '../shared/json.ts'
import type { SandboxHost } from '../primitives/subprocess/confinement.ts'
import type { OwnPlaces } from './confine.ts'
import type { SandboxFloor } from './sandbox.ts'
import type { Library } from './library.ts'
import type { Requirement } from './requirements.ts'
import type { LoadedPolicies } from './shell/argv-policies.ts'
import type { VariableGrant } from './variables.ts'
import type { WorkFolders } from './work-folder.ts'

/** What a call is worked out with. */
export interface DraftMeans {
  readonly environment: Environment
  /** The part of it that every child starts from. */
  readonly childEnvironment: Environment
  readonly grants: readonly VariableGrant[]
  /** What the names of secrets that the plan asks for stand for. */
  readonly values: ReadonlyMap<string, string>
  readonly packages: Config['packages']
  readonly cache: string
  readonly own: OwnPlaces
  /** What a program can be held by here; null when nobody asked. */
  readonly sandboxHost: SandboxHost | null
  readonly findProgram: (command: string, path: string) => string | null
  readonly place: WorkFolders['place']
  /** The packages that the tool needs. */
  readonly requirements: readonly Requirement[]
  /** What the tools of its space share; null when there is nothing. */
  readonly library: Library | null
  /** What is known of programs; only a command line needs it. */
  readonly argv: LoadedPolicies
}

/** Who asks, from where, with what. */
export interface Request {
  readonly callId: string
  readonly principal: string
  readonly parameters: JsonObject
  readonly projectPath: string | null
  /** The folder of the space that the tool was found in; null in the store. */
  readonly spaceRoot: string | null
  /** What its programs are held by at least. */
  readonly sandbox?: SandboxFloor | null
  /** What a refused line is told of scripts: nothing where they are refused as well. */
  readonly rawOffer?: () => string
  /** Programs that nobody vouches for are kept from what is Kiwi's own and from these folders; null for not at all. */
  readonly guardsOwn?: readonly string[] | null
  /** The connection of the client, for servers that remember what each of them said. */
  readonly session?: string
  /** The server is spoken to in the older era, over a connection of this session alone. */
  readonly isOlder?: boolean | undefined
  /** A server is to be listed or spoken to, and not run. */
  readonly isServerMeant?: boolean
}
