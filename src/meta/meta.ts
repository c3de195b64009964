import { isAbsolute } from 'node:path'
import type { Caller, Ticket } from '../kernel/call.ts'
import type { Kernel } from '../kernel/kernel.ts'
import { understand } from '../items/understand.ts'
import type { Clock } from '../shared/clock.ts'
import { KiwiError } from '../shared/errors.ts'
import type { Ids } from '../shared/ids.ts'
import { isObject } from '../shared/json.ts'
import type { Reply } from '../shared/reply.ts'
import type { Lookup } from '../spaces/lookup.ts'
import type { Spaces } from '../spaces/spaces.ts'
import type { Store } from '../store/store.ts'
import type { MetaTool } from './arguments.ts'
import { META_TOOLS, objectOf, readArguments, readItemType } from './arguments.ts'
import type { MetaCall } from './context.ts'
import { help } from './help.ts'
import { load, understandCopy } from './load.ts'
import type { Stamp } from './reply.ts'
import { errorReply, outcomeReply, successReply, toKiwiError } from './reply.ts'
import { search } from './search.ts'

/** Who calls over which connection. */
export interface Client extends Caller {
  /** The folder to work in when a call names none; null when there is none to be had. */
  readonly defaultProject: () => Promise<string | null>
}

/** The four tools: arguments in, the one reply out. It never throws. */
export interface Meta {
  call(tool: string, args: unknown, client: Client, signal?: AbortSignal): Promise<Reply>
}

interface MetaMeans {
  readonly kernel: Kernel
  readonly spaces: Spaces
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
}

export function openMeta({ kernel, spaces, store, clock, ids }: MetaMeans): Meta {
  return {
    async call(name, args, client, signal) {
      const started = clock.monotonic()
      const ticket = ticketOf({ callId: ids(), name, args, client, signal })
      const stamp = (): Stamp => ({
        call_id: ticket.callId,
        duration_ms: Math.round(clock.monotonic() - started),
      })
      const lookupAt = async (projectPath: string | undefined): Promise<Lookup> =>
        spaces.at(projectPath === undefined ? await client.defaultProject() : absolute(projectPath))
      const call: MetaCall = { ticket, caller: client, kernel, store, lookupAt }
      try {
        const tool = META_TOOLS.find((known) => known === name)
        if (tool === undefined) return await refusalsRecorded(call, () => Promise.reject(unknownTool(name)))
        return await answer(tool, args, call, stamp)
      } catch (error) {
        return errorReply(error, stamp())
      }
    },
  }
}

async function answer(tool: MetaTool, args: unknown, call: MetaCall, stamp: () => Stamp): Promise<Reply> {
  switch (tool) {
    case 'execute':
      return outcomeReply(await execute(args, call), stamp())
    case 'search': {
      const { data, warnings } = await refusalsRecorded(call, () => search(readArguments(tool, args), call))
      return successReply(data, stamp(), warnings)
    }
    case 'load': {
      const copy = isObject(args) && args['destination'] !== undefined ? await copyItem(args, call) : null
      const { data, warnings } = await refusalsRecorded(call, () => load(readArguments(tool, args), call))
      return successReply({ ...data, destination: copy?.data ?? null }, stamp(), warnings)
    }
    case 'help':
      return successReply(await refusalsRecorded(call, () => help(readArguments(tool, args), call)), stamp())
  }
}

/** Everything about an `execute` call, even that it cannot be read, happens inside the gate. */
function execute(given: unknown, { kernel, ticket, lookupAt }: MetaCall): ReturnType<Kernel['admit']> {
  return kernel.admit(ticket, async () => {
    const args = readArguments('execute', given)
    const wish = await understand({
      kind: args.item_type === 'thread' ? 'thread' : readItemType(args.item_type),
      action: args.action,
      itemId: args.item_id,
      version: args.version,
      parameters: objectOf(args.parameters),
    })
    return { wish, lookup: await lookupAt(args.project_path), isDryRun: args.dry_run }
  })
}

/** A copy is an effect, so `load` with a destination goes through the gate before it reads. */
function copyItem(given: unknown, call: MetaCall): ReturnType<Kernel['admit']> {
  return call.kernel.admit({ ...call.ticket, operation: 'load.copy' }, () =>
    understandCopy(readArguments('load', given), call),
  )
}

/** Reading has no effect to be judged; that it was refused is on record all the same. */
async function refusalsRecorded<T>({ kernel, ticket }: MetaCall, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    await kernel.admit(ticket, () => Promise.reject(toKiwiError(error))).catch(() => undefined)
    throw error
  }
}

function ticketOf(given: {
  callId: string
  name: string
  args: unknown
  client: Client
  signal: AbortSignal | undefined
}): Ticket {
  const { callId, name, args, client, signal } = given
  const fields = isObject(args) ? args : {}
  const action =
    name === 'execute' && typeof fields['action'] === 'string' ? `.${fields['action'].slice(0, 32)}` : ''
  const subject = fields['item_id'] ?? fields['query'] ?? fields['topic'] ?? fields['error_code'] ?? ''
  return {
    callId,
    operation: `${name.slice(0, 32)}${action}`,
    subject: typeof subject === 'string' ? subject.slice(0, 256) : '',
    parameters: name === 'execute' ? fields['parameters'] : fields,
    caller: { principal: client.principal, session: client.session, kind: client.kind },
    ...(signal === undefined ? {} : { signal }),
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
