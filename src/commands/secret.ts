import { z } from 'zod'
import { KiwiError } from '../shared/errors.ts'
import { canAsk } from './ask.ts'
import { readHidden, readPiped } from './read-hidden.ts'
import { openTerminal, printReply, table } from './terminal.ts'
import type { CommonOptions, Session } from './with-kiwi.ts'
import { withKiwi } from './with-kiwi.ts'

/** `kiwi secret set|list|rm`: what tools may be granted. A value is never an argument, and never shown. */
export function secretCommand(
  action: string,
  name: string | undefined,
  options: CommonOptions,
): Promise<number> {
  return withKiwi(options, async (session) => {
    if (action === 'list' && name === undefined) return list(session, options.json === true)
    if ((action !== 'set' && action !== 'rm') || name === undefined) {
      throw new KiwiError('INVALID_PARAMETERS', `Cannot read "secret ${action}"`, {
        hint: 'kiwi secret set NAME, kiwi secret list, or kiwi secret rm NAME',
      })
    }
    const value = action === 'rm' ? null : await valueOf(name)
    const reply = await session.act({
      wish: () => ({ kind: 'secret', name, value }),
      operation: `secret.${action}`,
      subject: name,
      parameters: { name },
    })
    return printReply(reply, options.json === true, (data, terminal) => {
      const { output, key } = Done.parse(data)
      terminal.out(output)
      if (key === 'file') terminal.note(FILE_NOTE)
    })
  })
}

const Done = z.looseObject({ output: z.string(), key: z.string().nullable().optional() })

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
  const rows = secrets.map(({ name, set_at }) => ({ name, set_at, used_by: users(name) }))
  if (isJson) terminal.out(JSON.stringify({ vault: kiwi.config.vault.path, key, secrets: rows }, null, 2))
  else if (rows.length === 0) terminal.note('The vault is empty: kiwi secret set NAME')
  else {
    const shown = rows.map(({ name, set_at, used_by }) => [name, set_at, 'vault', used_by.join(', ') || '-'])
    terminal.out(table([['name', 'set', 'kept', 'granted to'], ...shown]))
  }
  return 0
}
