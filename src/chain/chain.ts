import { openHttpClient } from '../primitives/http/http-client.ts'
import { openSubprocess } from '../primitives/subprocess/subprocess.ts'
import type { Config } from '../config/config.ts'
import { childEnvironment } from '../config/environment.ts'
import type { Clock } from '../shared/clock.ts'
import type { Draft, Request } from './draft.ts'
import { draftCall } from './draft.ts'
import type { Performed } from './perform.ts'
import { itemsOnDisk, perform } from './perform.ts'
import type { Plan } from './plan.ts'
import type { Resolver } from './resolve.ts'
import { openResolver } from './resolve.ts'
import { openSchemas } from './schemas.ts'
import type { Validate } from './validate.ts'
import { openValidate } from './validate.ts'
import { openWorkFolders } from './work-folder.ts'

/** From an id to an effect: resolve, draft, perform. It holds the only handles on the two primitives. */
export interface Chain {
  readonly resolver: Resolver
  /** Works a call out without making it. */
  draft(plan: Plan, request: Request): Draft
  /** What the rules of its chain say about an item: `finish` starts the programs that were not asked yet. */
  validate: Validate
  /** Makes it. */
  perform(draft: Draft, signal?: AbortSignal): Promise<Performed>
  close(): Promise<void>
}

export function openChain(config: Config, clock: Clock): Chain {
  const subprocess = openSubprocess({ clock })
  const workFolders = openWorkFolders(config.cache, clock)
  const httpClient = openHttpClient({ allowHosts: config.allowHosts, clock })
  const { environment, grants } = config
  const passedOn = childEnvironment(environment)
  const means = { subprocess, workFolders, httpClient }
  const schemas = openSchemas()
  return {
    resolver: openResolver(schemas),
    draft(plan, request) {
      const { item, runtime } = itemsOnDisk(plan)
      return draftCall(plan, request, {
        environment,
        childEnvironment: passedOn,
        grants,
        findProgram: (command, path) => subprocess.find(command, path),
        folders: {
          workFolder: item === null ? null : workFolders.place(item),
          runtimeFolder: runtime === null ? null : workFolders.place(runtime),
        },
      })
    },
    validate: openValidate({ config, subprocess, schemas }),
    perform: (draft, signal) => perform(draft, means, signal),
    async close() {
      await Promise.all([subprocess.close(), httpClient.close()])
      await workFolders.close()
    },
  }
}
