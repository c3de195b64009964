import type { Config } from '../config/config.ts'
import { openHttpClient } from '../primitives/http/http-client.ts'
import { openSubprocess } from '../primitives/subprocess/subprocess.ts'
import type { Clock } from '../shared/clock.ts'
import type { Store } from '../store/store.ts'
import type { Secrets } from '../store/vault/secrets.ts'
import { openOauth } from '../upstream/oauth/oauth.ts'
import { openUpstreams } from '../upstream/upstreams.ts'
import { openEnvironments } from './environments.ts'
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
  const httpClient = openHttpClient({ allowHosts: config.allowHosts, clock })
  const upstreams = openUpstreams()
  return {
    subprocess,
    httpClient,
    upstreams,
    oauth: openOauth({ logins: secrets.logins, httpClient, clock }),
    workFolders: openWorkFolders(config.cache, clock),
    environments: openEnvironments({ subprocess, clock }),
    listChanges: openListChanges(upstreams, store),
    said: new Map(),
  }
}
