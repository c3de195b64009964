import { z } from 'zod'
import type { Reply } from '../shared/reply.ts'
import { printReply, printable, printableText, runLine } from './terminal.ts'

const Written = z.looseObject({
  output: z.string(),
  tool_id: z.string(),
  path: z.string().nullable().default(null),
  call: z.looseObject({}).nullable().default(null),
  required: z.array(z.string()).default([]),
})

/** Prints what became of an item that was to be written. */
export function printWritten(reply: Reply, isJson: boolean): number {
  return printReply(reply, isJson, (data, terminal) => {
    if (reply.status === 'dry_run') return terminal.out(printableText(JSON.stringify(data, null, 2)))
    const { output, tool_id, path, call, required } = Written.parse(data)
    terminal.out(printable(output))
    if (path !== null) terminal.note(printable(path))
    if (call !== null) terminal.note(runLine(tool_id, required))
  })
}
