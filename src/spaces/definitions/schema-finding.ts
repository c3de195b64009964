import type { JsonObject } from '../../shared/json.ts'
import type { Item } from '../item.ts'

/** What is wrong with the schema of a tool that its server lists: said to agents too, who cannot change the server. */
const UNCHECKED = 'its arguments are sent unchecked: its schema cannot be read'
const UNCALLABLE = 'it cannot be called'

export function uncheckedFinding(reason: string): string {
  return `${UNCHECKED} (${reason.slice(0, LONGEST)})`
}

export function uncallableFinding(reason: string): string {
  return `${UNCALLABLE}: ${reason.slice(0, LONGEST)}`
}

const LONGEST = 300

export function isSchemaFinding(finding: string): boolean {
  return finding.startsWith(UNCHECKED) || isUncallable(finding)
}

export function isUncallable(finding: string): boolean {
  return finding.startsWith(UNCALLABLE)
}

/** Made from what a server lists, by Kiwi: whoever uses it did not write its schema. */
export function isListed({
  space,
  manifest,
}: Pick<Item, 'space'> & { readonly manifest: { readonly config: JsonObject } }): boolean {
  return space === 'mcp' || manifest.config['mcp_pin'] !== undefined
}
