import type { JsonObject } from '../../shared/json.ts'
import type { Directive, Step } from '../../spaces/directive/model.ts'
import { fillPlaceholders, fillValue } from '../../spaces/directive/placeholders.ts'
import type { Item } from '../../spaces/item.ts'

/** How a directive is begun, so that its rights and its tools come with it. */
export function beginning({ manifest: { version } }: Item, id: string, parameters: JsonObject): string {
  const call = { item_type: 'directive', action: 'run', item_id: id, parameters }
  return `Follow the directive "${id}" (version ${version}). Begin it with Kiwi, so that its rights and tools are yours:

execute ${JSON.stringify(call)}

The answer holds run_id, the tools it may use, and how to call them. Send run_id with every call of it; when it is done, or cannot be, end it with action "finish" and the run_id as item_id.`
}

/** A directive as text to read: what it is for and its steps, with the inputs filled in; the run hands over the rest. */
export function directiveWords({ description, steps, body }: Directive, inputs: JsonObject): string {
  const parts = [
    description,
    ...steps.map((step, at) => stepWords(step, at + 1, inputs)),
    fillPlaceholders(body, inputs),
  ]
  return parts.filter((part) => part.trim() !== '').join('\n\n')
}

function stepWords(
  { name, condition, description, action, calls }: Step,
  number: number,
  inputs: JsonObject,
): string {
  const lines = [
    name ?? '',
    condition === null ? '' : `Only if: ${fillPlaceholders(condition, inputs)}`,
    fillPlaceholders(description ?? '', inputs),
    fillPlaceholders(action ?? '', inputs),
    ...calls.map(
      ({ tool, parameters }) => `Call ${tool} with ${JSON.stringify(fillValue(parameters, inputs))}`,
    ),
  ].filter((line) => line.trim() !== '')
  return `${number}. ${lines.join('\n   ')}`
}
