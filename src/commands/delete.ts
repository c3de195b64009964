import { ERRORS } from '../shared/errors.ts'
import type { Reply } from '../shared/reply.ts'
import { canAsk, isAgreed } from './ask.ts'
import { openTerminal, printable } from './terminal.ts'
import type { CommonOptions } from './with-kiwi.ts'
import { withKiwi } from './with-kiwi.ts'
import { printWritten } from './written.ts'

interface DeleteOptions extends CommonOptions {
  readonly type: string
  readonly location?: string
  readonly yes?: boolean
}

/** `kiwi delete <id>`: says what would go and asks at a terminal; without one it needs --yes, and the refusal says so. */
export function deleteCommand(id: string, options: DeleteOptions): Promise<number> {
  return withKiwi(options, async ({ call }) => {
    const remove = (more: object): Promise<Reply> =>
      call('execute', {
        item_type: options.type,
        action: 'delete',
        item_id: id,
        parameters: {
          ...(options.location === undefined ? {} : { location: options.location }),
          ...more,
        },
      })
    const reply = await remove(options.yes === true ? { confirm: true } : {})
    const { error } = reply
    if (error?.code !== 'CONFIRM_REQUIRED') return printWritten(reply, options.json === true)
    if (options.yes === true || options.json === true || !canAsk()) {
      // What a tool would be told is not what is typed.
      const hint = `Confirm it with --yes${options.yes === true ? ' and --location registry' : ''}`
      return printWritten({ ...reply, error: { ...error, hint } }, options.json === true)
    }
    openTerminal().note(printable(error.message))
    if (await isAgreed('Delete it?')) {
      const location = error.details['source'] === 'registry' ? { location: 'registry' } : {}
      return printWritten(await remove({ ...location, confirm: true }), false)
    }
    openTerminal().note('Nothing was changed.')
    return ERRORS.CONFIRM_REQUIRED.exit
  })
}
