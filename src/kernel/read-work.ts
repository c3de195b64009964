import type { Performed } from '../chain/perform.ts'
import { keepAll } from '../shared/redact.ts'
import type { Ticket, Work } from './call.ts'

/** A question: it changes nothing, so it is answered even when it cannot be recorded. */
export function readWork({ operation, subject }: Ticket, read: () => Promise<Performed>): Work {
  return {
    item: { id: subject, version: null, space: null },
    action: operation,
    chain: [],
    demands: [{ op: 'tool', id: 'kiwi-mcp', action: operation }],
    isRepeatable: true,
    isReadOnly: true,
    isQuestion: true,
    parameters: null,
    redact: keepAll,
    preview: () => ({}),
    warnings: [],
    perform: read,
  }
}
