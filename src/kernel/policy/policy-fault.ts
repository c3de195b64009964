import type { PolicyFault } from './policy.ts'

/** What is wrong with a policy file, and where. */
export function policyFaultText({ file, line, column, reason }: PolicyFault): string {
  return `${file}:${line}:${column}: ${reason}`
}
