import type { Config } from '../config/config.ts'
import { openSubprocess } from '../primitives/subprocess/subprocess.ts'
import type { Clock } from '../shared/clock.ts'
import type { Store } from '../store/store.ts'
import type { Secrets } from '../store/vault/secrets.ts'
import { openOauth } from '../upstream/oauth/oauth.ts'
import { openUpstreams } from '../upstream/upstreams.ts'
import { openEnvironments } from './environments.ts'
import { openHttpClients } from './http-clients.ts'
import { openKnownEra } from './known-era.ts'
import { openListChanges } from './list-changes.ts'
import type { PerformMeans } from './perform-means.ts'
import { openWorkFolders } from './work-folder.ts'

interface Given {
  readonly config: Pick<Config, 'cache' | 'allowHosts'>
  readonly clock: Clock
  readonly store: Store
  readonly secrets: Secrets
}

/** The only handles on the two primitives, and what stands on them. */
export function openMeans({ config, clock, store, secrets }: Given): PerformMeans {
  const subprocess = openSubprocess({ clock })
  const httpClients = openHttpClients(config.allowHosts, clock)
  const httpClient = httpClients.common
  const upstreams = openUpstreams()
  return {
    subprocess,
    httpClient,
    httpClients,
    upstreams,
    oauth: openOauth({ logins: secrets.logins, reaching: (hosts) => httpClients.reaching(hosts), clock }),
    workFolders: openWorkFolders(config.cache, clock),
    environments: openEnvironments({ subprocess, clock }),
    listChanges: openListChanges(upstreams, store),
    knownEra: openKnownEra(store, clock),
    said: new Map(),
  }
}
