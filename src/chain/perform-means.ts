import type { HttpClient } from '../primitives/http/http-client.ts'
import type { Subprocess } from '../primitives/subprocess/subprocess.ts'
import type { Oauth } from '../upstream/oauth/oauth.ts'
import type { Upstreams } from '../upstream/upstreams.ts'
import type { Environments } from './environments.ts'
import type { HttpClients } from './http-clients.ts'
import type { KnownEra } from './known-era.ts'
import type { ListChanges } from './list-changes.ts'
import type { WorkFolders } from './work-folder.ts'

/** What a call is made with. */
export interface PerformMeans {
  readonly subprocess: Subprocess
  readonly httpClient: HttpClient
  /** For servers at an address. */
  readonly httpClients: Pick<HttpClients, 'of' | 'close'>
  readonly upstreams: Upstreams
  readonly oauth: Oauth
  readonly workFolders: WorkFolders
  readonly environments: Environments
  readonly listChanges: ListChanges
  readonly knownEra: KnownEra
  /** By key, what the last wire of an upstream wrote beside its messages. */
  readonly said: Map<string, () => string>
}
