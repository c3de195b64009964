import { ERRORS, KiwiError } from '../shared/errors.ts'
import { canAsk, isAgreed } from './ask.ts'
import { openTerminal, printable } from './terminal.ts'
import type { CommonOptions } from './with-kiwi.ts'
import { withKiwi } from './with-kiwi.ts'
import { printWritten } from './written.ts'

interface RollbackOptions extends CommonOptions {
  readonly type: string
  readonly yes?: boolean
  readonly dryRun?: boolean
}

/** `kiwi rollback <id> <version>`: a person's; no tool leads here. */
export async function rollbackCommand(
  id: string,
  version: string,
  options: RollbackOptions,
): Promise<number> {
  const isDryRun = options.dryRun === true
  if (options.yes !== true && !isDryRun) {
    if (!canAsk()) {
      throw new KiwiError('CONFIRM_REQUIRED', `Cannot roll "${id}" back: there is no terminal to ask at`, {
        hint: `See what changes with kiwi diff ${id} ${version}, then give --yes`,
      })
    }
    if (!(await isAgreed(`Make ${printable(version)} the latest "${printable(id)}" again?`))) {
      openTerminal().note('Nothing was changed.')
      return ERRORS.CONFIRM_REQUIRED.exit
    }
  }
  return withKiwi(options, async ({ rollback }) => {
    const reply = await rollback({ itemType: options.type, itemId: id, version, isDryRun })
    return printWritten(reply, options.json === true)
  })
}
