import { basename } from 'node:path'
import type { ArgvPolicies, ArgvPolicy } from './argv-policy.ts'

/** `python3.11` is a version of `python`. */
export function familyOf(program: string): string {
  return basename(program).replace(/\d+(?:\.\d+)*$/, '')
}

/** What is known of a program, by its name or by that of which it is a version. */
export function policiesOf(policies: ArgvPolicies, program: string): readonly ArgvPolicy[] {
  return policies.get(basename(program)) ?? policies.get(familyOf(program)) ?? []
}
