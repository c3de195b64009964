import { z } from 'zod'
import { KiwiError } from '../shared/errors.ts'
import type { ServerEntry } from '../spaces/server-entry.ts'
import { TRANSPORTS, transportOf } from '../spaces/server-entry.ts'
import { serverName } from '../shared/groups.ts'
import type { Terminal } from './terminal.ts'
import { printReply, printable } from './terminal.ts'
import type { CommonOptions } from './with-kiwi.ts'
import { withKiwi } from './with-kiwi.ts'

interface AddOptions extends CommonOptions {
  readonly transport?: string
  readonly header?: readonly string[]
  readonly env?: readonly string[]
  readonly description?: string
  readonly to: string
  readonly dryRun?: boolean
  /** Whether `--` was written: what stands behind it is a command. */
  readonly hasDashes: boolean
}

/** `kiwi add NAME -- command args…`, `kiwi add NAME URL`, `kiwi add supabase` */
export function addCommand(name: string, target: readonly string[], options: AddOptions): Promise<number> {
  return withKiwi(options, async (session) => {
    const reply = await session.act({
      wish: () => ({
        kind: 'add_server',
        name,
        entry: entryOf(name, target, options),
        to: readSpace(options.to),
      }),
      operation: 'server.add',
      subject: name,
      parameters: { name, to: options.to },
      isDryRun: options.dryRun === true,
    })
    return printReply(reply, options.json === true, (data, terminal) =>
      reply.status === 'dry_run'
        ? showDryRun(WouldAdd.parse(data), terminal)
        : showAdded(Added.parse(data), terminal),
    )
  })
}

/** `kiwi remove NAME` */
export function removeCommand(
  name: string,
  options: CommonOptions & { readonly from?: string },
): Promise<number> {
  return withKiwi(options, async (session) => {
    const from = options.from === undefined ? null : readSpace(options.from)
    const reply = await session.act({
      wish: () => ({ kind: 'remove_server', name, from }),
      operation: 'server.remove',
      subject: name,
      parameters: { name, from },
    })
    return printReply(reply, options.json === true, (data, terminal) =>
      terminal.out(printable(z.looseObject({ output: z.string() }).parse(data).output)),
    )
  })
}

/** One word is where it is; what stands behind `--` starts it. */
function entryOf(name: string, target: readonly string[], options: AddOptions): ServerEntry {
  const { header = [], env = [], description } = options
  return {
    ...howOf(name, target, options),
    ...(header.length === 0 ? {} : { headers: pairsOf(header, '--header') }),
    ...(env.length === 0 ? {} : { env: pairsOf(env, '--env') }),
    ...(description === undefined ? {} : { description }),
  }
}

function howOf(name: string, target: readonly string[], { transport, hasDashes }: AddOptions): ServerEntry {
  const [first, ...rest] = target
  const named = transport === undefined ? undefined : readTransport(transport)
  if (first === undefined) return named === undefined ? {} : { type: named }
  if (rest.length > 0 && !hasDashes) throw noDashes(name, target)
  const isAddress = !hasDashes || (rest.length === 0 && /^\w+:\/\//.test(first))
  return isAddress ? { type: named ?? transportOf(first), url: first } : { command: first, args: rest }
}

function noDashes(name: string, target: readonly string[]): KiwiError {
  return new KiwiError('INVALID_PARAMETERS', `Cannot add "${name}": "${target[0]}" is followed by more`, {
    hint: `A command stands behind --: kiwi add ${name} -- ${target[0]} …`,
    details: { missing: ['--'], invalid: [] },
  })
}

function readTransport(text: string): (typeof TRANSPORTS)[number] {
  const known = TRANSPORTS.find((transport) => transport === text)
  if (known !== undefined) return known
  throw new KiwiError('INVALID_PARAMETERS', `Cannot use the transport "${text}"`, {
    hint: 'Give --transport http, sse or websocket',
    details: { missing: [], invalid: [{ name: 'transport', reason: 'not a transport' }] },
  })
}

function readSpace(text: string): 'user' | 'project' {
  if (text === 'user' || text === 'project') return text
  throw new KiwiError(
    'INVALID_PARAMETERS',
    `Cannot use the space "${text}": it is neither user nor project`,
    {
      hint: 'Give user or project',
      details: { missing: [], invalid: [{ name: 'to', reason: 'not user or project' }] },
    },
  )
}

/** `Name=value`; a header may have a colon as well. What is wrong with one is said without it: it may be a secret. */
function pairsOf(given: readonly string[], option: string): Record<string, string> {
  return Object.fromEntries(
    given.map((pair) => {
      const [, name, value] = /^([\w.-]+)\s*(?:=|:\s*)([^]*)$/.exec(pair) ?? []
      if (name !== undefined && value !== undefined) return [name, value]
      throw new KiwiError('INVALID_PARAMETERS', `Cannot read a value of ${option}: it is not NAME=VALUE`, {
        hint: `Write ${option} NAME=VALUE, in quotes when it holds blanks`,
        details: { missing: [], invalid: [{ name: option, reason: 'not NAME=VALUE' }] },
      })
    }),
  )
}

const Added = z.looseObject({
  output: z.string(),
  id: z.string(),
  kept: z.array(z.string()),
  next: z.array(z.string()),
})

function showAdded({ output, id, kept, next }: z.infer<typeof Added>, terminal: Terminal): void {
  terminal.out(printable(output))
  if (kept.length > 0)
    terminal.out(printable(`Kept in the vault and granted to ${id}, as you typed it: ${kept.join(', ')}`))
  for (const command of next) terminal.note(printable(`Next: ${command}`))
  if (next.length === 0) terminal.note(printable(`Next: kiwi load ${serverName(id)} --type mcp`))
}

const WouldAdd = z.looseObject({
  would_write: z.string(),
  name: z.string(),
  keys: z.array(z.string()),
  secrets: z.array(z.string()),
})

function showDryRun(
  { would_write: path, name, keys, secrets }: z.infer<typeof WouldAdd>,
  terminal: Terminal,
): void {
  terminal.out(printable(`Would write "${name}" to ${path}: ${keys.join(', ') || 'nothing but its name'}`))
  if (secrets.length > 0) terminal.out(printable(`Would keep in the vault: ${secrets.join(', ')}`))
}
