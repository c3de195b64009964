import { openHttpClient } from '../primitives/http/http-client.ts'
import { openSubprocess } from '../primitives/subprocess/subprocess.ts'
import type { Config } from '../config/config.ts'
import { childEnvironment } from '../config/environment.ts'
import type { Clock } from '../shared/clock.ts'
import { openOwnKey } from '../spaces/signing-key.ts'
import type { Store } from '../store/store.ts'
import type { Draft, Request } from './draft.ts'
import { draftCall } from './draft.ts'
import type { Performed } from './perform.ts'
import { perform } from './perform.ts'
import type { Plan } from './plan.ts'
import type { Resolver } from './resolve.ts'
import { openResolver } from './resolve.ts'
import { openSchemas } from './schemas.ts'
import type { Judge } from './trust.ts'
import { openJudge } from './trust.ts'
import type { Verify } from './verify.ts'
import { openVerify } from './verify.ts'
import { openWorkFolders } from './work-folder.ts'

/** From an id to an effect: resolve, draft, perform. It holds the only handles on the two primitives. */
export interface Chain {
  readonly resolver: Resolver
  readonly verify: Verify
  readonly judge: Judge
  /** Works a call out without making it. */
  draft(plan: Plan, request: Request): Draft
  /** Makes it. */
  perform(draft: Draft, signal?: AbortSignal): Promise<Performed>
  close(): Promise<void>
}

export function openChain(config: Config, clock: Clock, store: Store): Chain {
  const subprocess = openSubprocess({ clock })
  const workFolders = openWorkFolders(config.cache, clock)
  const httpClient = openHttpClient({ allowHosts: config.allowHosts, clock })
  const { environment, grants, publishers, userSpace } = config
  const verify = openVerify({ ownKey: openOwnKey(config), publishers, store })
  const judge = openJudge({ verify, store, clock, userSpace })
  const passedOn = childEnvironment(environment)
  const means = { subprocess, workFolders, httpClient }
  return {
    resolver: openResolver(openSchemas(), judge),
    verify,
    judge,
    draft: (plan, request) =>
      draftCall(plan, request, {
        environment,
        childEnvironment: passedOn,
        grants,
        findProgram: (command, path) => subprocess.find(command, path),
        workFolder: plan.hasFiles ? workFolders.place(plan.item) : null,
      }),
    perform: (draft, signal) => perform(draft, means, signal),
    async close() {
      await Promise.all([subprocess.close(), httpClient.close()])
      await workFolders.close()
    },
  }
}
