import { canAsk, isAgreed } from './ask.ts'
import { openTerminal, printable } from './terminal.ts'
import type { CommonOptions } from './with-kiwi.ts'
import { withKiwi } from './with-kiwi.ts'
import { printWritten } from './written.ts'
import { ERRORS } from '../shared/errors.ts'

interface DeleteOptions extends CommonOptions {
  readonly type: string
  readonly location?: string
  readonly yes?: boolean
}

/** `kiwi delete <id>`: asks at a terminal; without one it needs --yes, and the refusal says so. */
export async function deleteCommand(id: string, options: DeleteOptions): Promise<number> {
  if (options.yes !== true && canAsk() && !(await isAgreed(`Delete ${options.type} "${printable(id)}"?`))) {
    openTerminal().note('Nothing was changed.')
    return ERRORS.CONFIRM_REQUIRED.exit
  }
  const isConfirmed = options.yes === true || canAsk()
  return withKiwi(options, async ({ call }) => {
    const reply = await call('execute', {
      item_type: options.type,
      action: 'delete',
      item_id: id,
      parameters: {
        ...(options.location === undefined ? {} : { location: options.location }),
        ...(isConfirmed ? { confirm: true } : {}),
      },
    })
    const code = printWritten(reply, options.json === true)
    if (!isConfirmed && options.json !== true) openTerminal().note('  or: kiwi delete --yes')
    return code
  })
}
