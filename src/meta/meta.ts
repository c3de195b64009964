import { isAbsolute } from 'node:path'
import type { Caller, Outcome, Ticket, Understood } from '../kernel/call.ts'
import type { Kernel } from '../kernel/kernel.ts'
import { asSpoken } from '../items/spoken-call.ts'
import { understand } from '../items/understand.ts'
import type { Clock } from '../shared/clock.ts'
import { KiwiError } from '../shared/errors.ts'
import type { Ids } from '../shared/ids.ts'
import { parseItemRef, timeOfId } from '../shared/ids.ts'
import { isObject } from '../shared/json.ts'
import type { Maybe } from '../shared/maybe.ts'
import { after } from '../shared/maybe.ts'
import type { Report, Talk } from '../shared/progress.ts'
import type { Redact } from '../shared/redact.ts'
import type { Reply } from '../shared/reply.ts'
import type { Stop } from '../shared/stop.ts'
import { textOf } from '../shared/template.ts'
import type { Learning } from '../search/learning.ts'
import type { Lookup } from '../spaces/lookup.ts'
import type { Spaces } from '../spaces/spaces.ts'
import type { StoreView } from '../store/store.ts'
import type { Act, RollbackOrder } from './acts.ts'
import { rollbackAct, trustAct } from './acts.ts'
import { META_TOOLS, objectOf, readArguments, readItemType } from './arguments.ts'
import type { MetaCall, Workplace } from './context.ts'
import { help } from './help.ts'
import type { Loaded } from './load.ts'
import { load, loadForCopy } from './load.ts'
import type { RelayRequest } from './relay.ts'
import { relayRecord } from './relay.ts'
import { openTold } from './refresh-servers.ts'
import type { Stamp } from './reply.ts'
import { cleanReply, errorReply, outcomeReply, successReply } from './reply.ts'
import { search } from './search.ts'
import type { Glance, Outlook } from './surfaces/outlook.ts'
import { lookOut } from './surfaces/outlook.ts'
import type { SurfaceRequest } from './surfaces/surface.ts'
import { showSurface, surfaceRecord } from './surfaces/surface.ts'

/** Who calls over which connection. */
export interface Client extends Caller, Talk {
  /** The folder to work in when a call names none; null when there is none to be had. */
  readonly defaultProject: () => Maybe<string | null>
  /** Hears what a call is busy with, when whoever calls wants to know. */
  readonly report?: Report | undefined
}

/** The four tools: arguments in, the one reply out. It never throws. */
export interface Meta {
  call(tool: string, args: unknown, client: Client, signal?: Stop): Promise<Reply>
  /** What a person asks for at the command line, through the same gate. No tool leads here. */
  act(act: Act, client: Client, signal?: Stop): Promise<Reply>
  /** A person's word for a project, or its end: an agent cannot vouch for what it works in. */
  trust(projectPath: string, isRevoked: boolean, client: Client): Promise<Reply>
  /** A person's too: what an item was in an earlier version becomes its latest again. */
  rollback(projectPath: string, order: RollbackOrder, client: Client): Promise<Reply>
  /** A request of a client that sees one server whole: what the server answers is the data, as it came. */
  relay(request: RelayRequest, client: Client, signal?: Stop): Promise<Reply>
  /** What a client that shows prompts, resources or skills asks for: what the protocol wants to hear is the data. */
  show(request: SurfaceRequest, client: Client, signal?: Stop): Promise<Reply>
  /** Whether what clients were shown of a project is still so; null when nothing has happened since. */
  lookOut(glance: Glance, projectPath: string | null): Promise<Outlook | null>
  /** Hears what servers tell beside their answers. Gives back how to hear no more. */
  readonly onNotice: Kernel['onNotice']
  /** A client that had a connection to a server for itself is gone. */
  readonly release: Kernel['release']
  /** What waits under this id. */
  question(approvalId: string): ReturnType<Kernel['questions']['find']>
  /** Takes secrets out of what is shown to a person beside a reply. */
  readonly redact: Redact
}

interface MetaMeans {
  readonly kernel: Kernel
  readonly spaces: Spaces
  readonly store: StoreView
  readonly learning: Learning
  readonly vectors: MetaCall['vectors']
  readonly wordTable: MetaCall['wordTable']
  readonly clock: Clock
  readonly ids: Ids
}

export function openMeta(opened: MetaMeans): Meta {
  const means = { ...opened, isNewsTo: openTold() }
  const { kernel, spaces, store, learning, clock, ids } = means
  const stampOf = ({ callId }: Ticket): (() => Stamp) => {
    const started = clock.monotonic()
    return () => ({ call_id: callId, duration_ms: Math.round(clock.monotonic() - started) })
  }
  const clean = (reply: Reply): Reply => cleanReply(reply, kernel.redact)
  const settle = async (ticket: Ticket, pass: () => Promise<Outcome>): Promise<Reply> => {
    const stamp = stampOf(ticket)
    try {
      return clean(outcomeReply(await pass(), stamp()))
    } catch (error) {
      return clean(errorReply(error, stamp()))
    }
  }
  const admit = (ticket: Ticket, meant: () => Maybe<Understood>): Promise<Reply> =>
    settle(ticket, () => kernel.admit(ticket, meant))
  const act: Meta['act'] = ({ wish, projectPath, isDryRun = false, ...asked }, client, signal) => {
    const { operation, subject, parameters = {} } = asked
    const more = { caller: callerOf(client), ...(signal === undefined ? {} : { signal }) }
    return admit(
      { callId: ids(), operation, subject: subject.slice(0, 256), parameters, ...more },
      async () => {
        const understood = wish()
        const lookup =
          projectPath === undefined
            ? atDefault(spaces, await client.defaultProject())
            : spaces.at(projectPath)
        return { wish: understood, lookup, sessionProject: lookup.projectPath, isDryRun }
      },
    )
  }
  return {
    async call(name, given, client, signal) {
      const args = name === 'execute' ? asSpoken(given) : given
      const ticket = ticketOf({ callId: ids(), name, args, client, signal, redact: kernel.redact })
      const stamp = stampOf(ticket)
      const call = callOf(ticket, client, means)
      try {
        const reply = clean(await answer(name, args, call, stamp))
        const project = async (): Promise<string | null> =>
          atDefault(spaces, await client.defaultProject()).projectPath
        if (isUse(reply)) learning.used(client, reply.metadata.item_id ?? '', project)
        return reply
      } catch (error) {
        return clean(errorReply(error, stamp()))
      }
    },
    act,
    trust: (projectPath, isRevoked, client) => act(trustAct(projectPath, isRevoked), client),
    question: (approvalId) => kernel.questions.find(approvalId),
    redact: kernel.redact,
    show(request, client, signal) {
      const ticket = { ...surfaceTicket(request, client, means), ...(signal === undefined ? {} : { signal }) }
      const show = (): Promise<Loaded> => showSurface(request, callOf(ticket, client, means))
      return settle(ticket, () => kernel.read(ticket, () => show))
    },
    lookOut: (glance, projectPath) => lookOut(glance, atDefault(spaces, projectPath), { kernel, store }),
    onNotice: (listener) => kernel.onNotice(listener),
    release: (key) => kernel.release(key),
    relay: (request, client, signal) =>
      admit(relayTicket(request, client, { callId: ids(), signal, redact: kernel.redact }), () => {
        const { method, params, passesInput } = request
        const order = { server: parseItemRef(request.server), method, params, passesInput }
        return after(workplace(undefined, client, kernel, spaces), ({ lookup, sessionProject }) => ({
          wish: { kind: 'relay', order },
          lookup,
          sessionProject,
          isDryRun: false,
        }))
      }),
    rollback: (projectPath, order, client) => act(rollbackAct(projectPath, order), client),
  }
}

interface Sent {
  readonly callId: string
  readonly signal: Stop | undefined
  readonly redact: Redact
}

/** Written out, and not spread: it is made with every call. */
function relayTicket(request: RelayRequest, client: Client, { callId, signal, redact }: Sent): Ticket {
  const { operation, subject, parameters } = relayRecord(request, redact)
  const { ask, tell, capabilities, logLevel } = client
  const caller = callerOf(client)
  return { callId, operation, subject, parameters, caller, signal, ask, tell, capabilities, logLevel }
}

function surfaceTicket(request: SurfaceRequest, client: Client, { ids, kernel }: MetaMeans): Ticket {
  return { callId: ids(), ...surfaceRecord(request, kernel.redact), caller: callerOf(client) }
}

interface CallMeans extends MetaMeans {
  readonly isNewsTo: ReturnType<typeof openTold>
}

function callOf(ticket: Ticket, client: Client, means: CallMeans): MetaCall {
  const { kernel, store, spaces, learning, vectors, wordTable, isNewsTo } = means
  return {
    ticket,
    kernel,
    store,
    learning,
    vectors,
    wordTable,
    isNews: (line) => isNewsTo(ticket.caller, line),
    async lookupAt(projectPath) {
      const otherwise = projectPath === undefined ? await client.defaultProject() : null
      const lookup = lookupOf(projectPath, otherwise, spaces)
      await lookup.begin()
      return lookup
    },
    workplaceAt: (projectPath) => workplace(projectPath, client, kernel, spaces),
  }
}

/** An item was run, and well. */
function isUse({ status, metadata }: Reply): boolean {
  return metadata.action === 'run' && (status === 'success' || status === 'ready')
}

function lookupOf(projectPath: string | undefined, otherwise: string | null, spaces: Spaces): Lookup {
  return projectPath === undefined ? atDefault(spaces, otherwise) : spaces.at(absolute(projectPath))
}

/** Not every folder that a session was begun in is a project for an agent to work in. */
function workplace(
  projectPath: string | undefined,
  client: Client,
  kernel: Kernel,
  spaces: Spaces,
): Maybe<Workplace> {
  return after(client.defaultProject(), (folder) => {
    if (client.kind === 'person')
      return { lookup: lookupOf(projectPath, folder, spaces), sessionProject: null }
    const sessionProject = kernel.projectOf(folder)
    return { lookup: lookupOf(projectPath, sessionProject, spaces), sessionProject }
  })
}

function callerOf({ principal, session, parentSession, kind, protocol, isShared, isOlder }: Client): Caller {
  return { principal, session, parentSession, kind, protocol, isShared, isOlder }
}

async function answer(tool: string, args: unknown, call: MetaCall, stamp: () => Stamp): Promise<Reply> {
  if (tool === 'execute') return outcomeReply(await execute(args, call), stamp())
  const isCopy = tool === 'load' && isObject(args) && args['destination'] !== undefined
  const outcome = await (isCopy ? copy(args, call) : read(tool, args, call))
  if (outcome.status === 'approval_required') return outcomeReply(outcome, stamp())
  const { data, warnings } = outcome
  // A page is bounded by what was asked for, and must not lose a part.
  const isPage = isObject(args) && args['path'] !== undefined
  return successReply(isPage ? data : await call.kernel.fit(call.ticket, data), stamp(), warnings)
}

/** Everything about an `execute` call, even that it cannot be read, happens inside the gate. */
function execute(given: unknown, { kernel, ticket, workplaceAt }: MetaCall): ReturnType<Kernel['admit']> {
  return kernel.admit(ticket, () => {
    const args = readArguments('execute', given)
    const meant = understand({
      kind: args.item_type === 'thread' ? 'thread' : readItemType(args.item_type),
      action: args.action,
      itemId: args.item_id,
      version: args.version,
      parameters: objectOf(args.parameters),
      runId: args.run_id,
    })
    return after(meant, (wish) =>
      after(workplaceAt(args.project_path), ({ lookup, sessionProject }) => ({
        wish,
        lookup,
        sessionProject,
        isDryRun: args.dry_run,
      })),
    )
  })
}

/** A question is judged and recorded like any other call. */
function read(tool: string, given: unknown, call: MetaCall): ReturnType<Kernel['read']> {
  return call.kernel.read(call.ticket, () => {
    switch (tool) {
      case 'search': {
        const args = readArguments(tool, given)
        return warned(() => search(args, call), args, call)
      }
      case 'load': {
        const args = readArguments(tool, given)
        return warned(() => load(args, call), args, call)
      }
      case 'help': {
        const args = readArguments(tool, given)
        return warned(() => help(args, call), args, call)
      }
      default:
        throw unknownTool(tool)
    }
  })
}

/** An answer, and what is wrong with the policy of its project. */
function warned(
  answerIt: () => Promise<Loaded>,
  { project_path: projectPath }: { readonly project_path?: string | undefined },
  { kernel, lookupAt }: MetaCall,
): () => Promise<Loaded> {
  return async () => {
    const { data, warnings } = await answerIt()
    const judge = await kernel.itemJudge((await lookupAt(projectPath)).projectPath)
    return { data, warnings: [...warnings, ...judge.warnings] }
  }
}

/** `load` with a destination: the item is shown as it was found, and then copied. */
async function copy(given: unknown, call: MetaCall): Promise<Outcome> {
  let shown: Loaded = { data: {}, warnings: [] }
  const outcome = await call.kernel.admit({ ...call.ticket, operation: 'load.copy' }, async () => {
    const { understood, ...loaded } = await loadForCopy(readArguments('load', given), call)
    shown = loaded
    return understood
  })
  if (outcome.status === 'approval_required') return outcome
  return {
    ...outcome,
    data: { ...shown.data, destination: outcome.data },
    warnings: [...shown.warnings, ...outcome.warnings],
  }
}

function ticketOf(given: {
  callId: string
  name: string
  args: unknown
  client: Client
  signal: Stop | undefined
  redact: Redact
}): Ticket {
  const { callId, name, args, client, signal, redact } = given
  const fields = isObject(args) ? args : {}
  const action =
    name === 'execute' && typeof fields['action'] === 'string' ? `.${fields['action'].slice(0, 32)}` : ''
  const subject = fields['item_id'] ?? fields['query'] ?? fields['topic'] ?? fields['error_code'] ?? ''
  const { report, ask, tell, capabilities, logLevel } = client
  const runId = name === 'execute' && !namesOnlyItsEnd(fields) ? fields['run_id'] : undefined
  return {
    callId,
    operation: `${name.slice(0, 32)}${action}`,
    // Half of a secret would not be found.
    subject: typeof subject === 'string' ? textOf(redact(subject)).slice(0, 256) : '',
    parameters: name === 'execute' ? fields['parameters'] : fields,
    caller: callerOf(client),
    runId: typeof runId === 'string' ? runId.slice(0, 64) : undefined,
    signal,
    report,
    ask,
    tell,
    capabilities,
    logLevel,
  }
}

/** A run that a call ends, and names beside the directive, is none that it acts in: who is in another may still end it. */
function namesOnlyItsEnd(fields: Readonly<Record<string, unknown>>): boolean {
  const { action, item_id: id, parameters, run_id: run } = fields
  if (action !== 'finish' || (isObject(parameters) && parameters['run_id'] !== undefined)) return false
  return typeof id !== 'string' || id === run || timeOfId(id) === null
}

/** A folder the client named once and that is gone since is no project; what is not in it still works. */
function atDefault(spaces: Spaces, folder: string | null): Lookup {
  try {
    return spaces.at(folder)
  } catch {
    return spaces.at(null)
  }
}

function absolute(projectPath: string): string {
  if (isAbsolute(projectPath)) return projectPath
  throw new KiwiError(
    'PROJECT_PATH_REQUIRED',
    `Cannot use "${projectPath}" as the project: it is not an absolute path`,
  )
}

function unknownTool(name: string): KiwiError {
  return new KiwiError('NOT_FOUND', `Cannot call "${name.slice(0, 64)}": Kiwi has ${META_TOOLS.join(', ')}`, {
    hint: 'Find the tool with search, then run it with execute',
    fix: { call: 'search', arguments: { query: name.slice(0, 256) } },
  })
}
