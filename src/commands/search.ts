import { z } from 'zod'
import { printReply, table } from './terminal.ts'
import type { CommonOptions } from './with-kiwi.ts'
import { withKiwi } from './with-kiwi.ts'

const Results = z.object({
  results: z.array(
    z.object({
      id: z.string(),
      tool_type: z.string(),
      source: z.string(),
      version: z.string(),
      description: z.string(),
    }),
  ),
  total: z.number(),
})

interface SearchOptions extends CommonOptions {
  readonly limit?: number
  readonly type?: string
  readonly source?: string
}

/** `kiwi search words...` */
export function searchCommand(words: readonly string[], options: SearchOptions): Promise<number> {
  return withKiwi(options, async ({ call }) => {
    const reply = await call('search', {
      query: words.join(' '),
      ...(options.limit === undefined ? {} : { limit: options.limit }),
      ...(options.type === undefined ? {} : { item_type: options.type }),
      ...(options.source === undefined ? {} : { source: options.source }),
    })
    return printReply(reply, options.json === true, (data, terminal) => {
      const { results, total } = Results.parse(data)
      const [first] = results
      if (first === undefined) {
        terminal.note('Nothing found. Try fewer or other words; "kiwi search" alone lists everything.')
        return
      }
      terminal.out(
        table(
          results.map((item) => [item.id, item.tool_type, item.source, item.version, item.description]),
          { 0: terminal.bold },
        ),
      )
      terminal.note(`${results.length} of ${total}. Look at one: kiwi load ${first.id}`)
    })
  })
}
