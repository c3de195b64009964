import type { JsonObject, JsonValue } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import { compileTree, renderTree } from '../shared/template.ts'
import type { Call, Outcome, Undo } from './call.ts'
import type { Kept } from './kept.ts'
import { newCheckpoint } from './kept.ts'
import type { Means } from './means.ts'

/** Keeps the call that would take this one back: what it is given is known when this one is over. */
export async function keepCall(
  call: Call,
  { tool, parameters }: Extract<Undo, { tier: 'call' }>,
  { store, clock }: Means,
): Promise<Kept> {
  const { callId } = call.ticket
  await store.undo.open(newCheckpoint(call, 'call', clock.now()), [], [])
  return {
    warnings: [],
    async finish(end) {
      if (end === null) {
        await store.undo.discard(callId)
        return { isKept: false, warnings: [] }
      }
      const given = fill(parameters, call.work?.parameters ?? {}, end)
      await store.undo.close(callId, [], { details: { tool, parameters: given } })
      return { isKept: true, warnings: [] }
    },
  }
}

const OUTPUT = /\{(output(?:\.[A-Za-z0-9_-]+)*)\}/g

/** Filled in one pass: what a result holds is never read again for names. */
function fill(templates: JsonObject, parameters: JsonObject, { data }: Outcome): JsonObject {
  const parts = [...JSON.stringify(templates).matchAll(OUTPUT)].map(([, path = '']) => path)
  const tree = compileTree(templates, new Set([...Object.keys(parameters), ...parts]))
  const filled = renderTree(tree, {
    parameter: (name) => (parts.includes(name) ? partOf(data, name) : parameters[name]),
    variable: ({ name }) => `\${${name}}`,
  })
  return isJsonObject(filled) ? filled : {}
}

function partOf(data: JsonObject, path: string): JsonValue | undefined {
  return path
    .split('.')
    .reduce<JsonValue | undefined>((value, key) => (isJsonObject(value) ? value[key] : undefined), data)
}
