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
  /** How many words stand behind `--`, which are a command; null without it. */
  readonly behindDashes: number | null
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

function howOf(name: string, target: readonly string[], options: AddOptions): ServerEntry {
  const { transport, behindDashes } = options
  const [first, ...rest] = target
  const named = transport === undefined ? undefined : readTransport(transport)
  if (behindDashes !== null) assertCommand(name, target, behindDashes)
  if (first === undefined) return named === undefined ? {} : { type: named }
  if (rest.length > 0 && behindDashes === null)
    throw unclear(
      name,
      `"${first}" is followed by more`,
      `A command stands behind --: kiwi add ${name} -- ${first} …`,
    )
  const isAddress = behindDashes === null || (rest.length === 0 && /^\w+:\/\//.test(first))
  assertOptions(name, isAddress, options)
  return isAddress ? { type: named ?? transportOf(first), url: first } : { command: first, args: rest }
}

/** All that stands behind the dashes, and nothing else. */
function assertCommand(name: string, target: readonly string[], behindDashes: number): void {
  const how = 'kiwi add NAME -- COMMAND, or kiwi add NAME URL'
  if (target.length < behindDashes) throw unclear(name, 'its name does not stand before --', how)
  if (target.length > behindDashes) throw unclear(name, 'it has an address and a command', how)
}

/** What would be of no use there. */
function assertOptions(name: string, isAddress: boolean, { transport, header, env }: AddOptions): void {
  const given: readonly (readonly [string, boolean])[] = isAddress
    ? [['--env', env !== undefined]]
    : [
        ['--header', header !== undefined],
        ['--transport', transport !== undefined && transport !== 'stdio'],
      ]
  const [idle] = given.find(([, isGiven]) => isGiven) ?? []
  if (idle === undefined) return
  const [what, instead] = isAddress
    ? ['a command', 'Give --header NAME=VALUE for what goes along with every request']
    : ['an address', 'Give --env NAME=VALUE for variables of the program']
  throw unclear(name, `${idle} is for ${what}`, instead)
}

function unclear(name: string, reason: string, hint: string): KiwiError {
  return new KiwiError('INVALID_PARAMETERS', `Cannot add "${name}": ${reason}`, {
    hint,
    details: { missing: [], invalid: [{ name: 'target', reason }] },
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
