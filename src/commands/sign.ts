import { z } from 'zod'
import { ERRORS } from '../shared/errors.ts'
import type { Reply } from '../shared/reply.ts'
import { printReply, printable, table } from './terminal.ts'
import type { CommonOptions } from './with-kiwi.ts'
import { withKiwi } from './with-kiwi.ts'

const One = z.looseObject({
  tool_id: z.string(),
  status: z.string(),
  path: z.string().nullable().default(null),
  error: z.string().optional(),
})
const Signed = z.union([
  z.looseObject({ results: z.array(One) }),
  One.transform((one) => ({ results: [one] })),
])

/** Of many, those that were not signed fail by themselves. */
function failedAmong({ data }: Reply): number {
  const isWhole = Signed.parse(data).results.every(({ status }) => status !== 'failed')
  return isWhole ? 0 : ERRORS.INVALID_MANIFEST.exit
}

interface SignOptions extends CommonOptions {
  readonly type: string
  readonly location?: string
}

/** `kiwi sign <id or glob>...`: a person's word for each. The first that fails decides the exit code. */
export function signCommand(ids: readonly string[], options: SignOptions): Promise<number> {
  return withKiwi(options, async ({ call }) => {
    let code = 0
    for (const item_id of ids) {
      const reply = await call('execute', {
        item_type: options.type,
        action: 'sign',
        item_id,
        parameters: options.location === undefined ? {} : { location: options.location },
      })
      const ended = printReply(reply, options.json === true, (data, terminal) => {
        const { results } = Signed.parse(data)
        terminal.out(
          table(
            results.map(({ status, tool_id, path, error }) => [
              status,
              tool_id,
              printable(error ?? path ?? ''),
            ]),
          ),
        )
      })
      code ||= ended === 0 ? failedAmong(reply) : ended
    }
    return code
  })
}
