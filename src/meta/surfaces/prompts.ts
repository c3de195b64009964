import type { JsonObject } from '../../shared/json.ts'
import { LIMITS } from '../../shared/limits.ts'
import { readDirective } from '../../spaces/directive/read-directive.ts'
import type { MetaCall } from '../context.ts'
import { beginning, directiveWords } from './directive-words.ts'
import { findShown } from './find-shown.ts'
import { inputsOf, readInputs, withDefaults } from './inputs.ts'
import type { Listed } from './list-items.ts'
import { listItems } from './list-items.ts'

const PAGE = 100
const DESCRIPTION_CHARACTERS = 500

/** Directives as prompts: the id is the name, the inputs are the arguments. */
export async function listPrompts(
  { cursor }: { readonly cursor?: string | undefined },
  call: MetaCall,
): Promise<JsonObject> {
  const { listed, next } = await listItems({ itemTypes: ['directive'], cursor, size: PAGE }, call)
  return { prompts: listed.map(promptOf), ...next }
}

function promptOf({ item, id }: Listed): JsonObject {
  return {
    name: id,
    description: item.manifest.description.slice(0, DESCRIPTION_CHARACTERS),
    arguments: inputsOf(item).map(({ name, description, isRequired }) => ({
      name,
      ...(description === '' ? {} : { description: description.slice(0, DESCRIPTION_CHARACTERS) }),
      required: isRequired,
    })),
  }
}

/** What a person says to an agent by choosing a prompt: to begin the directive, and what it will ask of it. Nothing is begun yet. */
export async function getPrompt(
  { name, arguments: given = {} }: PromptArguments,
  call: MetaCall,
): Promise<JsonObject> {
  const { item, lookup } = await findShown(name, 'directive', call)
  const inputs = readInputs(item, given)
  const { refusal } = await call.kernel.chainOf(item, lookup)
  const begin = beginning(item, name, inputs)
  // It is said in a person's voice: what nobody vouches for must not be heard in it.
  if (refusal !== null) return said(item.manifest.description, [`Tell me first: ${refusal}.`, begin])
  const words = directiveWords(await readDirective(item), withDefaults(item, inputs))
  const isShort = Buffer.byteLength(words) <= LIMITS.resultBytes
  return said(item.manifest.description, isShort ? [begin, words] : [begin])
}

interface PromptArguments {
  readonly name: string
  readonly arguments?: Readonly<Record<string, string>> | undefined
}

function said(description: string, parts: readonly string[]): JsonObject {
  return {
    description: description.slice(0, DESCRIPTION_CHARACTERS),
    messages: [{ role: 'user', content: { type: 'text', text: parts.join('\n\n') } }],
  }
}
