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

/**
 * A directive as text to read: what it is for and its steps, with the inputs filled in; the run hands over the rest. Of
 * what is asked for and was not given nothing is left.
 */
export function directiveWords(
  { description, steps, body }: Directive,
  inputs: JsonObject,
  asked: readonly string[] = [],
): string {
  const filling = { inputs, asked }
  const parts = [
    description,
    ...steps.map((step, at) => stepWords(step, at + 1, filling)),
    fillPlaceholders(body, inputs, asked),
  ]
  return parts.filter((part) => part.trim() !== '').join('\n\n')
}

interface Filling {
  readonly inputs: JsonObject
  readonly asked: readonly string[]
}

function stepWords(
  { name, condition, description, action, calls }: Step,
  number: number,
  { inputs, asked }: Filling,
): string {
  const fill = (text: string | null): string => fillPlaceholders(text ?? '', inputs, asked)
  const lines = [
    name ?? '',
    condition === null ? '' : `Only if: ${fill(condition)}`,
    fill(description),
    fill(action),
    ...calls.map(
      ({ tool, parameters }) =>
        `Call ${fill(tool)} with ${JSON.stringify(fillValue(parameters, inputs, asked))}`,
    ),
  ].filter((line) => line.trim() !== '')
  return `${number}. ${lines.join('\n   ')}`
}
