import type { JsonObject } from '../../shared/json.ts'
import type { Directive, Step } from '../../spaces/directive/model.ts'
import type { Item } from '../../spaces/item.ts'

/** How a directive is begun, so that its rights and its tools come with it. */
export function beginning({ manifest: { version } }: Item, id: string, parameters: JsonObject): string {
  const call = { item_type: 'directive', action: 'run', item_id: id, parameters }
  return `Follow the directive "${id}" (version ${version}). Begin it with Kiwi, so that its rights and tools are yours:

execute ${JSON.stringify(call)}

The answer holds run_id, the tools it may use, and how to call them. Send run_id with every call of it; when it is done, or cannot be, end it with action "finish" and the run_id as item_id.`
}

/** A directive as text to read: what it is for and its steps; the run hands over the rest. */
export function directiveWords(directive: Directive, fill: (text: string) => string): string {
  const { description, steps, body } = directive
  const parts = [description, ...steps.map((step, at) => stepWords(step, at + 1)), body]
  return fill(parts.filter((part) => part.trim() !== '').join('\n\n'))
}

function stepWords({ name, condition, description, action, calls }: Step, number: number): string {
  const lines = [
    name ?? '',
    condition === null ? '' : `Only if: ${condition}`,
    description ?? '',
    action ?? '',
    ...calls.map(({ tool, parameters }) => `Call ${tool} with ${JSON.stringify(parameters)}`),
  ].filter((line) => line.trim() !== '')
  return `${number}. ${lines.join('\n   ')}`
}
