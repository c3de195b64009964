import { KiwiError } from '../../shared/errors.ts'
import type { JsonObject } from '../../shared/json.ts'
import type { Item } from '../../spaces/item.ts'
import { BODY } from '../../spaces/item.ts'
import type { Lookup } from '../../spaces/lookup.ts'
import type { MetaCall } from '../context.ts'
import { assertVouched, findIn, findShown } from './find-shown.ts'
import { idInAddress, KNOWLEDGE_TEMPLATE, knowledgeAddress, wrongAddress } from './knowledge-address.ts'
import type { Listed } from './list-items.ts'
import { listItems } from './list-items.ts'
import { SKILL_TEMPLATE, skillIn } from './skill-address.ts'
import { readSkillFile } from './skills.ts'

const PAGE = 100
const MARKDOWN = 'text/markdown'
const DESCRIPTION_CHARACTERS = 500

interface Paged {
  readonly cursor?: string | undefined
}

interface Addressed {
  readonly uri: string
}

/** Knowledge as resources. */
export async function listResources({ cursor }: Paged, call: MetaCall): Promise<JsonObject> {
  const { listed, next } = await listItems({ itemTypes: ['knowledge'], cursor, size: PAGE }, call)
  return { resources: listed.map(resourceOf), ...next }
}

function resourceOf({ item: { manifest }, id }: Listed): JsonObject {
  const { name } = manifest
  const description = manifest.description.slice(0, DESCRIPTION_CHARACTERS)
  return {
    uri: knowledgeAddress(id),
    name: id,
    ...(typeof name === 'string' && name !== id ? { title: name.slice(0, DESCRIPTION_CHARACTERS) } : {}),
    description,
    mimeType: MARKDOWN,
  }
}

export async function listTemplates(): Promise<JsonObject> {
  return {
    resourceTemplates: [
      {
        uriTemplate: KNOWLEDGE_TEMPLATE,
        name: 'knowledge',
        description: 'A piece of knowledge by its id: name, category/name or name@version',
        mimeType: MARKDOWN,
      },
      { uriTemplate: SKILL_TEMPLATE, name: 'skill', description: 'A file of a skill that skills/list gives' },
    ],
  }
}

export async function readResource({ uri }: Addressed, call: MetaCall): Promise<JsonObject> {
  const id = idInAddress(uri)
  if (id === null) return { contents: [{ uri, ...(await readSkillFile(uri, call)) }] }
  const { item, lookup } = await findShown(id, 'knowledge', call)
  await assertVouched([item], lookup, call)
  return { contents: [{ uri, mimeType: MARKDOWN, text: await textOf(item) }] }
}

async function textOf({ id, text, files }: Item): Promise<string> {
  const body = (await files()).find(({ path }) => path === BODY)
  if (body !== undefined) return Buffer.from(body.content).toString('utf8')
  if (text !== null) return text
  throw new KiwiError('NOT_FOUND', `Cannot read "${id}": it holds no text`)
}

/** Says that a resource is there and may be read: whether it changes is watched elsewhere. */
export async function checkResource({ uri }: Addressed, call: MetaCall): Promise<JsonObject> {
  await hashAt(uri, await call.lookupAt(undefined), call)
  return {}
}

/** What changes when the resource does. */
export async function hashAt(uri: string, lookup: Lookup, call: Pick<MetaCall, 'kernel'>): Promise<string> {
  const id = idInAddress(uri)
  if (id !== null) return (await findIn(lookup, id, 'knowledge', call)).contentHash
  const skill = skillIn(uri)
  if (skill === null) throw wrongAddress(uri, 'it is none of those that Kiwi has')
  return (await findIn(lookup, skill.id, skill.itemType, call)).contentHash
}
