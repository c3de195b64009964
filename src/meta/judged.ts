import type { Verdict } from '../kernel/policy/rule.ts'

export function deniedText({ layer, rule, remedy }: Verdict): string {
  return `layer "${layer}"${rule === null ? '' : `, rule "${rule}"`}. ${remedy}`
}
