import { join } from 'node:path'
import type { Chain } from '../chain/chain.ts'
import { openChain } from '../chain/chain.ts'
import type { PlanLink } from '../chain/plan.ts'
import { openSchemas } from '../chain/schemas.ts'
import { openArgvPolicies } from '../chain/shell/argv-policies.ts'
import { toLinks, walk } from '../chain/walk.ts'
import type { Config } from '../config/config.ts'
import type { Embedder } from '../search/embedder.ts'
import type { Clock } from '../shared/clock.ts'
import type { JsonObject } from '../shared/json.ts'
import type { KnownSecrets } from '../shared/known-secrets.ts'
import type { Log } from '../shared/log.ts'
import type { Maybe } from '../shared/maybe.ts'
import { after } from '../shared/maybe.ts'
import type { Page } from '../shared/page.ts'
import type { Redact } from '../shared/redact.ts'
import type { PackageTable } from '../spaces/imports.ts'
import type { Item } from '../spaces/item.ts'
import type { Lookup } from '../spaces/lookup.ts'
import { openRelayScreen } from './relay-screen.ts'
import { openDefinitionScan } from '../spaces/definitions/scan-definition.ts'
import { openSecretPatterns } from '../spaces/secret-patterns.ts'
import { openOwnKey } from '../spaces/signing-key.ts'
import type { Store } from '../store/store.ts'
import { openSecrets } from '../store/vault/secrets.ts'
import type { Vault } from '../store/vault/vault.ts'
import type { Performed } from '../chain/perform.ts'
import type { Arrival, Call, Outcome, Ticket, Understood } from './call.ts'
import { openApprover } from './approver.ts'
import { openEmbedder } from './embedder.ts'
import { gate } from './gate.ts'
import { openHeads } from './heads.ts'
import { openMirror } from './journal-mirror.ts'
import { openMissedRecords } from './missed-records.ts'
import type { BoundListings } from './listings.ts'
import { boundListings, openListings } from './listings.ts'
import { settleLostCalls } from './lost-calls.ts'
import type { Means } from './means.ts'
import { newCall } from './new-call.ts'
import { openNotices } from './notices.ts'
import type { Questions } from './questions.ts'
import { openQuestions } from './questions.ts'
import type { OwnFiles } from './policy/machine-layer.ts'
import type { LayerMeans } from './policy/layer.ts'
import { withKeptHarness } from './policy/kept-harness.ts'
import { openPolicy } from './policy/open-policy.ts'
import { readWork } from './read-work.ts'
import { openOutputs } from './outputs.ts'
import { ownFiles, ownPaths } from './own-files.ts'
import { openResults } from './results.ts'
import { rootOf } from './run-work.ts'
import type { OwnSchema } from './own-schema.ts'
import { openOwnSchema } from './own-schema.ts'
import type { Begun, RunOrder } from './runs.ts'
import { openRuns } from './runs.ts'
import { heldTicket, inRun } from './in-run.ts'
import type { ItemJudge } from './item-demand.ts'
import { itemJudge } from './item-demand.ts'
import type { Policy, PolicyOf } from './policy/policy.ts'
import type { ShownTrust } from './shown-trust.ts'
import { shownTrust } from './shown-trust.ts'
import { openSigner } from './signer.ts'
import { openStreaks } from './streaks.ts'
import type { JournalReport } from './verify-journal.ts'
import { verifyWithHeads } from './verify-journal.ts'
import { workOut } from './work-out.ts'
import type { Workplaces } from './workplaces.ts'
import { openWorkplaces } from './workplaces.ts'

/** What stands between a wish and its effect. Nobody outside holds a handle that leads past it. */
export interface Kernel {
  /** Takes a request through the gate. `understand` says what it means; when it throws, that is the refusal on record. */
  admit(ticket: Ticket, understand: () => Maybe<Understood>): Promise<Outcome>
  /** The same for a question: `understand` gives what answers it, and the answer changes nothing. */
  read(ticket: Ticket, understand: () => () => Promise<Performed>): Promise<Outcome>
  /** What servers list, asked for on behalf of a call, in its project. */
  listingsFor(ticket: Ticket, workplace: Workplace): Promise<BoundListings>
  /** A folder as the project of an agent's session; null for one that is none. */
  projectOf(folder: string | null): string | null
  /** The links an item would run through, how far each is trusted, and the hash a grant for it is bound to. */
  chainOf(item: Item, lookup: Lookup): Promise<ShownChain>
  /** Whether a person, or a publisher they accept, stands behind a server. */
  isVouched(server: Item): Promise<boolean>
  /** Whether a person lets the items of a project run. */
  isTrusted(projectPath: string): Promise<boolean>
  /** What makes vectors for search, looked up outside of any project; null where the person set nothing. */
  embedder(lookup: Lookup): Embedder | null
  /** Begins a run: calls that name it are judged by its layers too. */
  openRun(order: RunOrder): Promise<Begun>
  /** Ends it, with all that were begun in it. */
  closeRun(runId: string): Promise<void>
  /** What is decided in a project about items before they are run: the same function filters what is shown. */
  itemJudge(projectPath: string | null): Promise<ItemJudge>
  /** What is decided in a project. */
  policyOf(projectPath: string | null): Promise<Policy>
  /** What the reply shows of an answer; what is too large is kept whole for a while, and shown by its outline. */
  fit(ticket: Ticket, data: JsonObject, outline?: JsonObject): Promise<JsonObject>
  /** What waits for a person, and what was answered. */
  readonly questions: Questions
  /** A page of a result that was too large for its reply, or of what a JSONPath behind its id selects. */
  resultPage(handle: string, offset: number, limit: number): Promise<Page>
  /** What programs can be held by here. */
  sandbox(): Promise<Awaited<ReturnType<Chain['sandbox']>>>
  /** Hears what servers tell beside their answers. Gives back how to hear no more. */
  readonly onNotice: Chain['onNotice']
  /** A client that had a connection to a server for itself is gone. */
  readonly release: Chain['release']
  /** What is in the vault, without the values, and where its key is. */
  readonly secrets: Vault['list']
  /** What of a value is against a schema that an item brings along, in words; null for nothing. */
  readonly schemaFinding: OwnSchema
  /** Takes every secret that this process knows out of what it says. */
  readonly redact: Redact
  /** Brings what nearly every chain ends in into memory. */
  preload(lookup: Lookup): Promise<void>
  /** Gives calls that were cut off with their process the end they will not get otherwise. */
  settle(): Promise<void>
  /** Whether the journal is what was written, as far as that can be told. */
  verifyJournal(): Promise<JournalReport>
  close(): Promise<void>
}

type Workplace = Pick<Understood, 'lookup' | 'sessionProject'>

interface ShownChain extends ShownTrust {
  readonly links: readonly PlanLink[]
  readonly digest: string
}

interface KernelMeans {
  readonly config: Config
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
  readonly packageTable: PackageTable
  /** Where what is shipped with Kiwi lies. */
  readonly builtinFolder: string
  readonly known: KnownSecrets
}

/** Where what is known of programs stands. */
const ARGV = join('config', 'argv')

export function openKernel(given: KernelMeans): Kernel {
  const { config, store, clock, log, packageTable, builtinFolder, known } = given
  const secrets = openSecrets({ config, clock, store, known })
  const argvPolicies = openArgvPolicies(join(builtinFolder, ARGV), join(config.userSpace, ARGV))
  const chain = openChain({ config, clock, store, secrets, packageTable, argvPolicies })
  const results = openResults(config.cache)
  const outputs = openOutputs({ settings: config.outputs, userSpace: config.userSpace, clock })
  const ownKey = openOwnKey(config)
  const heads = openHeads({ file: config.heads, ownKey, clock, log, journal: store.journal })
  const followers = config.audit.mirror ? [openMirror(log), heads] : [heads]
  for (const follower of followers) store.journal.follow((placed) => follower.add(placed))
  const missed = openMissedRecords({ journal: store.journal, clock, log })
  const own = ownFiles(config, builtinFolder)
  const { policyOf, runs } = openJudging({ config, store, clock, builtinFolder, chain }, argvPolicies, own)
  const approver = openApprover(config.approverKey)
  const notices = openNotices({ approver, chain, clock, log, pass: (ticket, work) => pass(ticket, work) })
  const listings = openListings({ clock, pass: (ticket, work) => pass(ticket, work) })
  const means: Means = {
    ...settledMeans(config, builtinFolder),
    chain,
    store,
    secrets,
    results,
    outputs,
    clock,
    log,
    policyOf,
    runs,
    streaks: openStreaks(store, clock),
    missed,
    approver,
    notify: (question, to) => notices.notify(question, to),
    own: ownPaths(own),
    signer: openSigner(ownKey, clock),
    packageTable,
    listings,
  }
  const workplaces = openWorkplaces(config, chain.judge)
  const pass = async (ticket: Ticket, workOutHere: Call['workOut']): Promise<Outcome> => {
    const learning = secrets.learn()
    if (learning instanceof Promise) await learning
    return gate(newCall(ticket, workOutHere, secrets.redact), means)
  }
  const bind = createBind(means, workplaces)
  return {
    admit: createAdmit(pass, bind, runs),
    read: (ticket, understand) => pass(ticket, async () => readArrival(ticket, understand())),
    listingsFor: async (ticket, workplace) =>
      boundListings(listings, { ticket, lookup: workplace.lookup, means: await bind(ticket, workplace) }),
    projectOf: (folder) => workplaces.projectOf(folder),
    ...trustIn(chain),
    embedder: (lookup) => openEmbedder({ settings: config.search, clock, means, pass }, lookup),
    openRun: (order) => runs.open(order),
    closeRun: (runId) => runs.close(runId),
    itemJudge: async (projectPath) => itemJudge(await policyOf(projectPath)),
    policyOf: async (projectPath) => policyOf(projectPath),
    fit: ({ callId, subject }, data, outline) => results.fitAnswer(callId, subject, data, outline),
    questions: openQuestions(means),
    resultPage: (handle, offset, limit) => results.page(handle, offset, limit),
    sandbox: async () => chain.sandbox(),
    onNotice: (listener) => chain.onNotice(listener),
    release: (key) => chain.release(key),
    secrets: () => secrets.vault.list(),
    schemaFinding: openOwnSchema(),
    redact: secrets.redact,
    preload: (lookup) => chain.resolver.preload(lookup),
    settle: () => settleLostCalls(means),
    verifyJournal: () => verifyWithHeads({ journal: store.journal, file: config.heads, ownKey }),
    async close() {
      await Promise.all([notices.drain(), listings.close()])
      await chain.close()
      outputs.close()
      await store.journal.drain()
      await missed.close()
      await Promise.all(followers.map((follower) => follower.close()))
    },
  }
}

function createAdmit(
  pass: (ticket: Ticket, workOutHere: Call['workOut']) => Promise<Outcome>,
  bind: ReturnType<typeof createBind>,
  runs: Means['runs'],
): Kernel['admit'] {
  return async (asked, understand) => {
    const held = heldTicket(asked, runs)
    const ticket = held instanceof Promise ? await held : held
    return pass(ticket, (call) =>
      after(understand(), (meant) => {
        const understood = inRun(meant, call.run)
        // Known from here on, also to the record of what cannot be worked out.
        call.projectPath = understood.lookup.projectPath
        return after(bind(ticket, understood), (bound) => {
          if (ticket.caller.kind === 'agent') call.sessionProject = understood.sessionProject
          return workOut(understood, ticket, bound)
        })
      }),
    )
  }
}

/** What is written out in the configs of servers is known by then. An agent is bound by the project of its session too, whichever it works in. */
function createBind(
  means: Means,
  workplaces: Workplaces,
): (ticket: Ticket, workplace: Workplace) => Maybe<Means> {
  // From one call of a session to the next.
  let last: { readonly sessionProject: string | null; readonly means: Means } | null = null
  const boundTo = (sessionProject: string | null): Means => {
    if (last?.sessionProject === sessionProject) return last.means
    const bound: Means = { ...means, policyOf: (path) => means.policyOf(path, sessionProject) }
    last = { sessionProject, means: bound }
    return bound
  }
  return ({ caller }, { lookup, sessionProject }) =>
    after(lookup.begin(), () => {
      if (caller.kind === 'person') return means
      return after(workplaces.assertOpen(lookup.projectPath, sessionProject), () => boundTo(sessionProject))
    })
}

/** What is read off the settings and what is shipped. */
function settledMeans(
  { userSpace, home, undo }: Config,
  builtinFolder: string,
): Pick<Means, 'userSpace' | 'home' | 'undo' | 'secretPatterns' | 'scanDefinitions' | 'relayScreen'> {
  const secretPatterns = openSecretPatterns(builtinFolder)
  const scanDefinitions = openDefinitionScan(builtinFolder)
  const relayScreen = openRelayScreen(scanDefinitions)
  return { userSpace, home, undo, secretPatterns, scanDefinitions, relayScreen }
}

/** A question belongs to no project. */
function readArrival(ticket: Ticket, read: () => Promise<Performed>): Arrival {
  return { work: readWork(ticket, read), projectPath: null, isDryRun: false }
}

interface JudgingMeans extends Pick<KernelMeans, 'config' | 'store' | 'clock' | 'builtinFolder'> {
  readonly chain: Pick<Chain, 'sandbox'>
}

/** What calls are judged by: the files of machine, user and project, and what runs were begun with. */
function openJudging(
  { config, store, clock, builtinFolder, chain }: JudgingMeans,
  argvPolicies: LayerMeans['argvPolicies'],
  own: OwnFiles,
): { readonly policyOf: PolicyOf; readonly runs: Means['runs'] } {
  const { home, machineHarness, userSpace } = config
  const schemas = openSchemas()
  const means: LayerMeans = {
    argvPolicies,
    compileSchema: (schema, what) => schemas.compile(schema, what),
  }
  const places = { builtinFolder, machineHarness, userSpace }
  const canHold = async (): Promise<boolean> => (await chain.sandbox()).missing.fs === null
  return {
    policyOf: withKeptHarness(openPolicy({ ...means, home, places, own, canHold })),
    runs: openRuns({ ...means, store, clock, home }),
  }
}

/** What is said of trust without a call. */
function trustIn(chain: Chain): Pick<Kernel, 'chainOf' | 'isVouched' | 'isTrusted'> {
  return {
    chainOf: (item, lookup) => shownChain(chain, item, lookup),
    isVouched: (server) => chain.judge.isVouched(server),
    isTrusted: (projectPath) => chain.judge.isTrusted(projectPath),
  }
}

async function shownChain(chain: Chain, item: Item, lookup: Lookup): Promise<ShownChain> {
  const items = await walk(item, lookup)
  const trust = await chain.judge.judge(items, lookup.projectPath)
  const digest = await chain.digest(items, rootOf(item, lookup))
  return { links: toLinks(items), digest, ...shownTrust(trust) }
}
