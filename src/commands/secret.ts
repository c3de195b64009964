import { z } from 'zod'
import { KiwiError } from '../shared/errors.ts'
import { visible } from '../shared/visible.ts'
import { canAsk } from './ask.ts'
import { readHidden, readPiped } from './read-hidden.ts'
import { openTerminal, printReply, table } from './terminal.ts'
import type { CommonOptions, Session } from './with-kiwi.ts'
import { withKiwi } from './with-kiwi.ts'

interface SecretOptions extends CommonOptions {
  readonly command?: boolean
}

/** `kiwi secret set|list|rm`: what tools may be granted. A value is never an argument, and never shown. */
export function secretCommand(
  action: string,
  name: string | undefined,
  argv: readonly string[],
  options: SecretOptions,
): Promise<number> {
  const isCommand = options.command === true
  return withKiwi(options, async (session) => {
    if (action === 'list' && name === undefined && !isCommand) return list(session, options.json === true)
    assertWord(action, argv, isCommand)
    if (name === undefined) throw unread(action)
    const wish = isCommand
      ? ({ kind: 'secret_command', name, argv } as const)
      : ({ kind: 'secret', name, value: action === 'rm' ? null : await valueOf(name) } as const)
    const reply = await session.act({
      wish: () => wish,
      operation: `secret.${action}`,
      subject: name,
      parameters: { name },
    })
    return printReply(reply, options.json === true, (data, terminal) => {
      const { output, key, command } = Done.parse(data)
      terminal.out(command === undefined ? output : `${output}: ${shownArgv(command)}`)
      if (key === 'file' && command === undefined) terminal.note(FILE_NOTE)
    })
  })
}

function assertWord(action: string, argv: readonly string[], isCommand: boolean): void {
  if ((action !== 'set' && action !== 'rm') || (action === 'rm' && (isCommand || argv.length > 0)))
    throw unread(action)
  if (argv.length === 0 || isCommand) return
  throw new KiwiError(
    'INVALID_PARAMETERS',
    'Cannot set a secret from the command line: others could read it',
    {
      hint: 'Leave the value out and type or pipe it; a program that gives it stands behind --command --',
    },
  )
}

function unread(action: string): KiwiError {
  return new KiwiError('INVALID_PARAMETERS', `Cannot read "secret ${action}"`, {
    hint: 'kiwi secret set NAME [--command -- PROGRAM ARGUMENT...], kiwi secret list, or kiwi secret rm NAME',
  })
}

/** As a person could type it, with nothing in it that acts on a terminal. */
function shownArgv(argv: readonly string[]): string {
  return argv.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `"${visible(word)}"`)).join(' ')
}

const Done = z.looseObject({
  output: z.string(),
  key: z.string().nullable().optional(),
  command: z.array(z.string()).optional(),
})

const FILE_NOTE =
  'note: its key lies beside it in kiwi.vault.key, so only copies of the vault alone are protected; a keychain or KIWI_VAULT_PASSPHRASE protects more'

function valueOf(name: string): Promise<string> {
  return canAsk() ? readHidden(`Value of ${name} (not shown): `) : readPiped()
}

async function list({ kiwi }: Session, isJson: boolean): Promise<number> {
  const terminal = openTerminal()
  const [{ key, secrets }, grants] = [await kiwi.secrets(), await kiwi.store.grants()]
  const users = (name: string): readonly string[] => [
    ...new Set([
      ...grants.filter(({ secret }) => secret === name).map(({ tool }) => tool),
      ...kiwi.config.grants.filter(({ names }) => names.includes(name)).map(({ tool }) => tool),
    ]),
  ]
  const rows = secrets.map((secret) => ({ ...secret, used_by: users(secret.name) }))
  if (isJson) terminal.out(JSON.stringify({ vault: kiwi.config.vault.path, key, secrets: rows }, null, 2))
  else if (rows.length === 0) terminal.note('The vault is empty: kiwi secret set NAME')
  else {
    const shown = rows.map(({ name, set_at, command, used_by }) => [
      name,
      set_at,
      command === null ? 'vault' : `command: ${shownArgv(command)}`,
      used_by.join(', ') || '-',
    ])
    terminal.out(table([['name', 'set', 'kept', 'granted to'], ...shown]))
  }
  return 0
}
