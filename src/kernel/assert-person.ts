import { KiwiError } from '../shared/errors.ts'
import type { Ticket } from './call.ts'

/** Some things only a person asks for, at the command line. */
export function assertPerson({ caller, subject }: Ticket, action: string): void {
  if (caller.kind === 'person') return
  throw new KiwiError('PERMISSION_DENIED', `Cannot ${action} "${subject}": only a person can`, {
    hint: `Ask the person to run kiwi ${action} at the command line`,
    details: { layer: 'machine', rule: 'person-only', op: 'tool', resource: action },
  })
}
