import { printReply } from './terminal.ts'
import type { CommonOptions } from './with-kiwi.ts'
import { withKiwi } from './with-kiwi.ts'

/** `kiwi finish <run>`: ends a run with all that were begun in it, whoever began it. */
export function finishCommand(run: string, options: CommonOptions): Promise<number> {
  return withKiwi(options, async ({ call }) => {
    const parameters = { run_id: run }
    const reply = await call('execute', {
      item_type: 'directive',
      action: 'finish',
      item_id: run,
      parameters,
    })
    return printReply(reply, options.json === true, (_, terminal) => terminal.out(`The run ${run} is over`))
  })
}
