import { z } from 'zod'
import { needsSchema, readParameters } from './parameters.ts'
import { printReply, printableText } from './terminal.ts'
import type { CommonOptions } from './with-kiwi.ts'
import { withKiwi } from './with-kiwi.ts'

const Result = z.looseObject({ output: z.unknown().optional(), stderr: z.string().optional() })
const Parameters = z.looseObject({ parameters: z.unknown() })

interface RunOptions extends CommonOptions {
  readonly params?: string
  readonly type: string
  readonly dryRun?: boolean
}

/** `kiwi run <id> name=text count:=3` */
export function runCommand(id: string, pairs: readonly string[], options: RunOptions): Promise<number> {
  return withKiwi(options, async ({ call }) => {
    const loaded = needsSchema(pairs) ? await call('load', { item_type: options.type, item_id: id }) : null
    const schema = loaded?.error === null ? Parameters.parse(loaded.data).parameters : null
    const reply = await call('execute', {
      item_type: options.type,
      action: 'run',
      item_id: id,
      parameters: readParameters(pairs, options.params, schema),
      dry_run: options.dryRun === true,
    })
    const code = printReply(reply, options.json === true, (data, terminal) => {
      if (reply.status === 'dry_run') return terminal.out(printableText(JSON.stringify(data, null, 2)))
      const { output, stderr } = Result.parse(data)
      if (stderr !== undefined) terminal.note(stderr.trimEnd())
      terminal.out(typeof output === 'string' ? output.trimEnd() : JSON.stringify(output, null, 2))
    })
    if (options.json !== true && reply.error !== null && reply.data !== null) {
      const { output, stderr } = Result.parse(reply.data)
      if (typeof output === 'string' && output !== '') process.stdout.write(output)
      if (stderr !== undefined && stderr !== '') process.stderr.write(stderr)
    }
    return code
  })
}
