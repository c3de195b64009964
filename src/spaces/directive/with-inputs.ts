import type { Item } from '../item.ts'
import type { Lookup } from '../lookup.ts'
import { readExtended } from './extend.ts'
import { parameterOf } from './inputs.ts'
import { Parameter } from '../manifest.ts'
import { textOfDirective } from './read-directive.ts'

/**
 * An item with all it takes: a directive takes what those take that it is built on. What is wrong with one of them is
 * for the run to say; then it takes what it says itself.
 */
export async function withInputs(item: Item, lookup: Pick<Lookup, 'baseOf'>): Promise<Item> {
  if (item.manifest.tool_type !== 'directive') return item
  try {
    // Most are built on nothing, and need not be read for that.
    if (!(await textOfDirective(item)).includes('extends')) return item
    const { directive, bases } = await readExtended(item, (ref, by) => lookup.baseOf(by, ref))
    if (bases.length === 0) return item
    const { input_schema: _own, ...manifest } = item.manifest
    const parameters = directive.inputs.map((input) => Parameter.parse(parameterOf(input)))
    return { ...item, manifest: { ...manifest, parameters } }
  } catch {
    return item
  }
}
