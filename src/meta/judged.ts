import type { JudgedItem } from '../kernel/item-demand.ts'
import type { Verdict } from '../kernel/policy/rule.ts'
import type { Item } from '../spaces/item.ts'

export function judgedItem({ id, space, manifest }: Item): JudgedItem {
  const { tool_type: type, executor, config, category } = manifest
  return { id, type, space, executor, config, category }
}

export function deniedText({ layer, rule, remedy }: Verdict): string {
  return `layer "${layer}"${rule === null ? '' : `, rule "${rule}"`}. ${remedy}`
}
