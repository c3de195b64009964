import { join } from 'node:path'
import type { SandboxHost } from '../primitives/subprocess/confinement.ts'
import type { UpstreamNotice } from '../upstream/upstream.ts'
import type { Config } from '../config/config.ts'
import { childEnvironment } from '../config/environment.ts'
import type { Clock } from '../shared/clock.ts'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import type { Maybe } from '../shared/maybe.ts'
import { after } from '../shared/maybe.ts'
import type { Watch } from '../shared/progress.ts'
import type { PackageTable } from '../spaces/imports.ts'
import type { Item } from '../spaces/item.ts'
import { openOwnKey } from '../spaces/signing-key.ts'
import type { Store } from '../store/store.ts'
import type { OwnPlaces } from './confine.ts'
import type { Secrets } from '../store/vault/secrets.ts'
import type { HeardListing, RelayedRequest } from './call-upstream.ts'
import { describeUpstream, listUpstream, notifyUpstream, relay } from './call-upstream.ts'
import type { ChainLogins } from './chain-logins.ts'
import { chainLogins } from './chain-logins.ts'
import { digestOf } from './compile-plan.ts'
import { createDraft } from './create-draft.ts'
import { settled } from './draft-settled.ts'
import type { Draft } from './draft.ts'
import type { Request } from './draft-means.ts'
import { openMeans } from './open-means.ts'
import type { Post } from './post.ts'
import { post } from './post.ts'
import type { Bundle } from './files-as-read.ts'
import { createFindImports } from './find-imports.ts'
import { createFindGranted } from './find-granted.ts'
import { createGatherRequirements } from './gather-requirements.ts'
import { createFindLibrary, grantDigest } from './library.ts'
import type { Performed } from './perform.ts'
import { perform } from './perform.ts'
import type { Plan } from './plan.ts'
import type { Resolver } from './resolve.ts'
import { openResolver } from './resolve.ts'
import type { Schemas } from './schemas.ts'
import { openSchemas } from './schemas.ts'
import type { LoadArgvPolicies } from './shell/argv-policies.ts'
import { openSecretCommands } from './secret-commands.ts'
import { createFindSiblings } from './siblings.ts'
import type { Validate } from './validate.ts'
import { openValidate } from './validate.ts'
import type { Trees } from './trees.ts'
import { openTrees } from './trees.ts'
import type { Judge } from './trust.ts'
import { openJudge } from './trust.ts'
import type { Verify } from './verify.ts'
import { openVerify } from './verify.ts'

/** From an id to an effect: resolve, draft, perform. It holds the only handles on the two primitives. */
export interface Chain {
  readonly resolver: Resolver
  readonly verify: Verify
  readonly judge: Judge
  readonly trees: Trees
  /** Works a call out without making it: at once, unless files have to be read to know what it needs. */
  draft(plan: Plan, request: Request): Draft | Promise<Draft>
  /** Whether a library of this space would be given to it. */
  hasLibrary(items: readonly Item[], spaceRoot: string): Maybe<boolean>
  /** The hash a grant for an item is bound to. */
  digest(items: readonly Item[], spaceRoot: string | null): Promise<string>
  /** What the rules of its chain say about an item: `finish` starts the programs that were not asked yet. */
  validate: Validate
  /** Why arguments cannot be checked by a schema; null when they can. */
  schemaFault(schema: JsonObject): Promise<KiwiError | null>
  /** What programs can be held by here. */
  sandbox(): SandboxHost | Promise<SandboxHost>
  /** The whole path of a program on the PATH; null when it is not there. */
  programPath(command: string): string | null
  /** Makes it. */
  perform(draft: Draft, watch?: Watch): Promise<Performed>
  /** Asks the server of a draft what it has, nothing of it checked yet. */
  list(draft: Draft, watch?: Watch): Promise<HeardListing>
  /** What the server of a draft says of itself, with the key that its notices carry. */
  describe(draft: Draft, watch?: Watch): Promise<JsonObject>
  /** Closes the connection that notices with this key came from: nobody will use it again. */
  release(key: string): Promise<void>
  /** Tells the server of a draft something, where there is a connection to it. */
  notify(draft: Draft, notice: RelayedRequest, watch?: Watch): Promise<void>
  /** Hears what servers tell beside their answers. Gives back how to hear no more. */
  onNotice(listener: (notice: UpstreamNotice) => void): () => void
  /** Sends a request to the server of a draft as it is, and gives its answer as it came but for live secrets. */
  relay(draft: Draft, request: RelayedRequest, watch?: Watch): Promise<JsonObject>
  readonly logins: ChainLogins
  /** Sends what Kiwi itself has to say, behind the same guards as a tool; gives the status it was answered with. */
  post(message: Post, watch?: Watch): Promise<number>
  close(): Promise<void>
}

interface ChainMeans {
  readonly config: Config
  readonly clock: Clock
  readonly store: Store
  readonly secrets: Secrets
  readonly packageTable: PackageTable
  readonly argvPolicies: LoadArgvPolicies
}

export function openChain(given: ChainMeans): Chain {
  const { config, clock, store, secrets, packageTable, argvPolicies } = given
  const means = openMeans(given)
  const { subprocess, workFolders, environments, httpClient, httpClients, upstreams, oauth } = means
  const gather = createGatherRequirements(createFindImports(packageTable))
  const findLibrary = createFindLibrary(createFindSiblings(packageTable))
  const { environment, packages, cache, publishers, userSpace } = config
  const verify = openVerify({ ownKey: openOwnKey(config), publishers, store })
  const judge = openJudge({ verify, store, clock, userSpace })
  const passedOn = childEnvironment(environment)
  const schemas = openSchemas()
  const isNeeded = async (project: string, exceptCallId: string): Promise<boolean> =>
    (await store.undo.unfinished(project)).some(({ call_id }) => call_id !== exceptCallId)
  const trees = openTrees({ subprocess, config, clock, isNeeded })
  const grantedTo = createFindGranted({ config, store, secrets })
  const secretCommands = openSecretCommands({
    subprocess,
    clock,
    childEnvironment: passedOn,
    home: config.home,
    know: (name, value) => secrets.know(name, value),
  })
  const logins = chainLogins({ oauth, environment })
  const fixed = {
    environment,
    childEnvironment: passedOn,
    packages,
    cache,
    own: ownPlaces(config),
    findProgram: (command: string, path: string) => subprocess.find(command, path),
    place: (bundle: Bundle, root?: string) => workFolders.place(bundle, root),
  }
  return {
    resolver: openResolver(schemas, judge),
    verify,
    judge,
    trees,
    draft: createDraft({ fixed, gather, findLibrary, grantedTo, secretCommands, subprocess, argvPolicies }),
    hasLibrary: (items, spaceRoot) => after(findLibrary(items, spaceRoot), (library) => library !== null),
    digest: async (items, spaceRoot) => grantDigest(digestOf(items), await findLibrary(items, spaceRoot)),
    validate: openValidate({ clock, config, subprocess, schemas }),
    schemaFault: (schema) => faultIn(schema, schemas),
    sandbox: () => subprocess.sandbox(),
    programPath: (command) => subprocess.find(command, environment['PATH'] ?? ''),
    perform: (draft, watch = {}) => settled(draft, watch, (made) => perform(made, means, watch)),
    list: (draft, watch = {}) => settled(draft, watch, (made) => listUpstream(made, means, watch)),
    describe: (draft, watch = {}) => settled(draft, watch, (made) => describeUpstream(made, means, watch)),
    release: (key) => upstreams.release(key),
    notify: (draft, notice, watch = {}) =>
      settled(draft, watch, async (made) => notifyUpstream(made, notice, means, watch)),
    onNotice: (listener) => upstreams.onNotice(listener),
    relay: (draft, request, watch = {}) =>
      settled(draft, watch, (made) => relay(made, request, means, watch)),
    logins: {
      logIn: (draft, order, signal) =>
        settled(draft, { signal }, (made) => logins.logIn(made, order, signal)),
      logOut: (draft, principal) => settled(draft, {}, (made) => logins.logOut(made, principal)),
    },
    post: (message, watch) => post(message, httpClient, watch),
    async close() {
      await Promise.all([upstreams.close(), subprocess.close(), httpClients.close()])
      await environments.close()
      await workFolders.close()
    },
  }
}

function ownPlaces(config: Config): OwnPlaces {
  const { home, userSpace, cache, store, heads, token, key, approverKey, vault, machineHarness } = config
  return {
    home,
    userSpace,
    cache,
    secret: [
      ...['', '-wal', '-shm', '-journal'].map((end) => store + end),
      heads,
      token,
      key,
      approverKey,
      vault.path,
      vault.keyFile,
      join(userSpace, '.env'),
    ],
    plain: [config.file, config.publicKey],
    machineHarness,
  }
}

async function faultIn(schema: JsonObject, schemas: Schemas): Promise<KiwiError | null> {
  try {
    await schemas.compile(schema, 'its schema')
    return null
  } catch (error) {
    if (error instanceof KiwiError) return error
    throw error
  }
}
