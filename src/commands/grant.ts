import { z } from 'zod'
import { ERRORS, KiwiError } from '../shared/errors.ts'
import { parseItemRef } from '../shared/ids.ts'
import type { Reply } from '../shared/reply.ts'
import type { Lookup } from '../spaces/lookup.ts'
import type { StoredGrant } from '../store/grants.ts'
import { canAsk, isAgreed } from './ask.ts'
import { openTerminal, printReply, printable, table } from './terminal.ts'
import type { CommonOptions, Session } from './with-kiwi.ts'
import { withKiwi } from './with-kiwi.ts'

interface GrantOptions extends CommonOptions {
  readonly to?: readonly string[]
  readonly for?: string
  readonly yes?: boolean
  readonly revoke?: boolean
  readonly list?: boolean
}

/** `kiwi grant`: which content of which tool may read which secret, and where it may put it. */
export function grantCommand(
  tool: string | undefined,
  names: readonly string[],
  options: GrantOptions,
): Promise<number> {
  return withKiwi(options, async (session) => {
    if (options.list === true) return list(session, options.json === true)
    if (tool === undefined) throw incomplete('it names no tool')
    if (options.revoke === true) return revoke(session, tool, names, options)
    if (names.length === 0) throw incomplete('it names no secret')
    const shown = await act(session, { tool, names, options, digest: null, isDryRun: true })
    if (shown.error !== null) return printReply(shown, options.json === true, () => undefined)
    const preview = Preview.parse(shown.data)
    if (options.yes !== true && !(await isConfirmed(preview))) {
      openTerminal().note('Nothing was changed.')
      return ERRORS.SECRET_NOT_GRANTED.exit
    }
    const reply = await act(session, { tool, names, options, digest: preview.digest, isDryRun: false })
    return printReply(reply, options.json === true, (data, terminal) => {
      terminal.out(Done.parse(data).output)
      terminal.out(secretsOf(preview))
    })
  })
}

const Done = z.looseObject({ output: z.string() })
const Preview = z.looseObject({
  tool: z.string(),
  version: z.string(),
  space: z.string(),
  digest: z.string(),
  secrets: z.array(
    z.looseObject({ name: z.string(), places: z.array(z.string()), sinks: z.array(z.string()) }),
  ),
})

interface Order {
  readonly tool: string
  readonly names: readonly string[]
  readonly options: GrantOptions
  /** The content that was looked at. */
  readonly digest: string | null
  readonly isDryRun: boolean
}

function act(session: Session, { tool, names, options, digest, isDryRun }: Order): Promise<Reply> {
  const { to: sinks = [], for: principal = '*' } = options
  return session.act({
    wish: () => ({ kind: 'grant', ref: parseItemRef(tool), names, sinks, principal, expectedDigest: digest }),
    operation: 'grant',
    subject: tool,
    parameters: { names, sinks, principal },
    isDryRun,
  })
}

async function isConfirmed(preview: z.infer<typeof Preview>): Promise<boolean> {
  const { tool, version, space } = preview
  if (!canAsk()) {
    throw new KiwiError(
      'CONFIRM_REQUIRED',
      `Cannot grant anything to "${tool}": there is no terminal to ask at`,
      {
        hint: 'Look at what the tool does with it, then give --yes',
      },
    )
  }
  const terminal = openTerminal()
  terminal.note(
    printable(`${tool} ${version}, found in the space ${space}, exactly as it is now, would get:`),
  )
  terminal.note(secretsOf(preview))
  return isAgreed('Grant this?')
}

/** What it gets, where the manifest puts it, and what it is bound to. */
function secretsOf({ secrets }: z.infer<typeof Preview>): string {
  return table(
    secrets.map(({ name, places, sinks }) => [
      `  ${name}`,
      places.length === 0 ? 'nowhere in the manifest' : `in ${places.join(', ')}`,
      sinks.length === 0 ? '' : `only for ${sinks.join(', ')}`,
    ]),
  )
}

async function revoke(
  { act: send }: Session,
  tool: string,
  [name, ...more]: readonly string[],
  { json = false }: GrantOptions,
): Promise<number> {
  if (more.length > 0) throw incomplete('it names several secrets')
  const reply = await send({
    wish: () => ({ kind: 'revoke_grant', tool: parseItemRef(tool).name, name: name ?? null }),
    operation: 'grant.revoke',
    subject: tool,
    parameters: { name: name ?? null },
  })
  return printReply(reply, json, (data, terminal) => terminal.out(Done.parse(data).output))
}

function incomplete(reason: string): KiwiError {
  return new KiwiError('INVALID_PARAMETERS', `Cannot read the grant: ${reason}`, {
    hint: 'kiwi grant TOOL NAME..., kiwi grant --revoke TOOL [NAME], or kiwi grant --list',
  })
}

async function list({ kiwi, project }: Session, isJson: boolean): Promise<number> {
  const terminal = openTerminal()
  const stored = await kiwi.store.grants()
  const lookup = kiwi.spaces.at(project)
  lookup.freshen(true)
  const digests = new Map<string, string | null>()
  for (const { tool } of stored) if (!digests.has(tool)) digests.set(tool, await digestOf(kiwi, tool, lookup))
  const stateOf = ({ tool, digest }: StoredGrant): string => {
    const now = digests.get(tool) ?? null
    return now === null ? 'not found here' : now === digest ? 'in force' : 'void: it has changed'
  }
  const rows = [
    ...stored.map((grant) => ({ ...grant, state: stateOf(grant) })),
    ...kiwi.config.grants.flatMap(({ tool, hash: digest, names }) =>
      names.map((secret) => ({ ...OLDER, tool, digest, secret })),
    ),
  ]
  if (isJson) terminal.out(JSON.stringify(rows, null, 2))
  else if (rows.length === 0) terminal.note('Nothing is granted yet: kiwi grant TOOL NAME')
  else {
    const shown = rows.map(({ tool, secret, sink, principal, state, granted_at, granted_by }) => [
      tool,
      secret,
      sink ?? '-',
      principal === '*' ? 'everybody' : principal,
      state,
      `${granted_at} ${granted_by}`,
    ])
    terminal.out(table([['tool', 'secret', 'only for', 'calls of', 'state', 'granted'], ...shown]))
  }
  return 0
}

const OLDER = { principal: '*', sink: null, granted_at: '', granted_by: 'kiwi.json', state: 'in kiwi.json' }

async function digestOf(kiwi: Session['kiwi'], tool: string, lookup: Lookup): Promise<string | null> {
  try {
    const item = await lookup.find(parseItemRef(tool), 'tool')
    return item === null ? null : (await kiwi.chainOf(item, lookup)).digest
  } catch {
    return null
  }
}
