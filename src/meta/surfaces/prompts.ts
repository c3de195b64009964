import type { JsonObject } from '../../shared/json.ts'
import { LIMITS } from '../../shared/limits.ts'
import type { DirectiveInput } from '../../spaces/directive/model.ts'
import type { Lookup } from '../../spaces/lookup.ts'
import type { MetaCall } from '../context.ts'
import { beginning, directiveWords } from './directive-words.ts'
import { findShown, whyWithheld } from './find-shown.ts'
import { readInputs, wordsOfType } from './inputs.ts'
import type { Listed } from './list-items.ts'
import { listItems } from './list-items.ts'
import { readWhole } from './read-whole.ts'

const PAGE = 100
const DESCRIPTION_CHARACTERS = 500

/** Directives as prompts: the id is the name, the inputs are the arguments. */
export async function listPrompts(
  { cursor }: { readonly cursor?: string | undefined },
  call: MetaCall,
): Promise<JsonObject> {
  const { listed, lookup, next } = await listItems({ itemTypes: ['directive'], cursor, size: PAGE }, call)
  return { prompts: await Promise.all(listed.map((one) => promptOf(one, lookup))), ...next }
}

async function promptOf({ item, id }: Listed, lookup: Lookup): Promise<JsonObject> {
  // What is wrong with one is said when it is got.
  const inputs = await readWhole(item, lookup).then(
    ({ directive }) => directive.inputs,
    () => [],
  )
  return {
    name: id,
    description: item.manifest.description.slice(0, DESCRIPTION_CHARACTERS),
    arguments: inputs.map(argumentOf),
  }
}

/** Arguments are texts, so what else they have to be is said with what they are for. */
function argumentOf(input: DirectiveInput): JsonObject {
  const { name, description, required } = input
  const type = wordsOfType(input)
  const words = description === '' || type === '' ? `${description}${type}` : `${description} (${type})`
  return {
    name,
    ...(words === '' ? {} : { description: words.slice(0, DESCRIPTION_CHARACTERS) }),
    required,
  }
}

/** What a person says to an agent by choosing a prompt: to begin the directive, and what it will ask of it. Nothing is begun yet. */
export async function getPrompt(
  { name, arguments: args = {} }: PromptArguments,
  call: MetaCall,
): Promise<JsonObject> {
  const { item, lookup } = await findShown(name, 'directive', call)
  const { directive, bases } = await readWhole(item, lookup)
  const { given, all } = readInputs(directive, args)
  const begin = beginning(item, name, given)
  const withheld = await whyWithheld([item, ...bases], lookup, call)
  // It is said in a person's voice: what nobody vouches for must not be heard in it.
  if (withheld !== null)
    return said(item.manifest.description, [`Tell me first: ${withheld.message}.`, begin])
  const asked = directive.inputs.map((input) => input.name)
  const words = directiveWords(directive, all, asked)
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
