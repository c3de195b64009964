import type { Call, Ticket } from './call.ts'

/** A request before its first stage. */
export function newCall(ticket: Ticket, workOut: Call['workOut']): Call {
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
  }
}
