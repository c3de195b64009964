import type { JsonObject } from '../../shared/json.ts'
import type { MetaCall } from '../context.ts'
import { KiwiError } from '../../shared/errors.ts'
import { findShown } from './find-shown.ts'
import { valuesOf } from './inputs.ts'
import { KNOWLEDGE_TEMPLATE } from './knowledge-address.ts'
import { usableHits } from './list-items.ts'
import { readWhole } from './read-whole.ts'

/** What the protocol lets an answer hold. */
const MOST = 100

export interface Completion {
  readonly ref:
    | { readonly type: 'ref/prompt'; readonly name: string }
    | { readonly type: 'ref/resource'; readonly uri: string }
  readonly argument: { readonly name: string; readonly value: string }
}

/** The values an input may have, and the ids of knowledge, that begin with what was typed. */
export async function complete({ ref, argument }: Completion, call: MetaCall): Promise<JsonObject> {
  const values =
    ref.type === 'ref/prompt' ? await inputValues(ref.name, argument.name, call) : await ids(ref.uri, call)
  const typed = argument.value.toLowerCase()
  const fitting = values.filter((value) => value.toLowerCase().startsWith(typed))
  return {
    completion: { values: fitting.slice(0, MOST), total: fitting.length, hasMore: fitting.length > MOST },
  }
}

async function inputValues(prompt: string, name: string, call: MetaCall): Promise<readonly string[]> {
  const { item, lookup } = await findShown(prompt, 'directive', call)
  const { inputs } = (await readWhole(item, lookup)).directive
  const input = inputs.find((one) => one.name === name)
  if (input !== undefined) return valuesOf(input)
  throw new KiwiError(
    'INVALID_PARAMETERS',
    `Cannot complete "${name.slice(0, 128)}": "${item.id}" has no such input`,
    {
      hint: `"${item.id}" takes ${inputs.map((one) => one.name).join(', ') || 'no inputs'}`,
      details: { missing: [], invalid: [{ name: 'argument.name', reason: 'is no input of it' }] },
    },
  )
}

async function ids(template: string, call: MetaCall): Promise<readonly string[]> {
  if (template !== KNOWLEDGE_TEMPLATE) return []
  const lookup = await call.lookupAt(undefined)
  const hits = await usableHits(['knowledge'], lookup, call)
  return [...new Set(hits.map(({ item_id: id }) => id))]
}
