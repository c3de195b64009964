import type { Redact } from '../shared/redact.ts'
import { keepAll } from '../shared/redact.ts'
import type { Call, Ticket } from './call.ts'

/** A request before its first stage. */
export function newCall(ticket: Ticket, workOut: Call['workOut'], redact: Redact = keepAll): Call {
  return {
    ticket,
    workOut,
    work: null,
    projectPath: null,
    sessionProject: null,
    run: null,
    policy: null,
    verdict: null,
    approval: null,
    seen: new Map(),
    isDryRun: false,
    decision: 'open',
    warnings: [],
    redact,
  }
}
