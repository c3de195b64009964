import { z } from 'zod'
import { parseItemRef } from '../shared/ids.ts'
import { canAsk, isAgreed } from './ask.ts'
import { openTerminal, printReply, printable } from './terminal.ts'
import type { CommonOptions } from './with-kiwi.ts'
import { withKiwi } from './with-kiwi.ts'

interface LoginOptions extends CommonOptions {
  readonly for?: string
  /** The secret of the client may go to the issuer that the server names. */
  readonly yes?: boolean
  /** False for --no-browser. */
  readonly browser?: boolean
}

const LoggedIn = z.looseObject({
  output: z.string(),
  principal: z.string(),
  until: z.string().nullable(),
  is_renewed: z.boolean(),
})

/** `kiwi login NAME`: shows the address of the page where a person logs in, and waits for its answer. */
export function loginCommand(name: string, options: LoginOptions): Promise<number> {
  const { for: principal = '*', json = false } = options
  return withKiwi(options, async (session) => {
    const terminal = openTerminal()
    const show = (address: string): void => {
      terminal.note(`Log in here, within 5 minutes:\n\n  ${printable(address)}\n`)
    }
    const confirm = async (issuer: string): Promise<boolean> => {
      terminal.note(`The server names an issuer at another host: ${printable(issuer)}`)
      if (options.yes === true) return true
      return canAsk() && isAgreed('Send it the client_secret of the config?')
    }
    const opensBrowser = options.browser !== false && canAsk()
    const reply = await session.act({
      wish: () => ({
        kind: 'login',
        ref: parseItemRef(name),
        principal,
        page: { opensBrowser, show, confirm },
      }),
      operation: 'login',
      subject: name,
      parameters: { principal },
    })
    return printReply(reply, json, (data, lines) => {
      const { output, until, is_renewed: isRenewed, ...login } = LoggedIn.parse(data)
      const whose = login.principal === '*' ? 'everybody' : login.principal
      const end = isRenewed ? 'renewed by itself' : until === null ? 'without a known end' : `until ${until}`
      lines.out(`${output} for the calls of ${printable(whose)}, ${end}`)
    })
  })
}

const LoggedOut = z.looseObject({ output: z.string() })

/** `kiwi logout NAME`: gives the login back and forgets it. */
export function logoutCommand(name: string, options: LoginOptions): Promise<number> {
  const { for: principal = '*', json = false } = options
  return withKiwi(options, async (session) => {
    const reply = await session.act({
      wish: () => ({ kind: 'login', ref: parseItemRef(name), principal, page: null }),
      operation: 'logout',
      subject: name,
      parameters: { principal },
    })
    return printReply(reply, json, (data, lines) => lines.out(LoggedOut.parse(data).output))
  })
}
