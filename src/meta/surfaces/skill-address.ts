import type { ItemType } from '../../shared/tool-type.ts'
import { decoded, wrongAddress } from './knowledge-address.ts'

type SkillType = Extract<ItemType, 'directive' | 'knowledge'>

/** A place in a skill. */
export interface SkillPlace {
  readonly itemType: SkillType
  /** `name`, or `category/name` where the name alone is not enough. */
  readonly id: string
  /** Below the folder of the skill; empty for the folder itself. */
  readonly path: string
}

const SCHEME = 'skill://'
export const SKILL_TEMPLATE = `${SCHEME}{+path}`
export const MANIFEST = 'SKILL.md'
const LONGEST_NAME = 64
const NAME = /^[a-z0-9]+(?:-[a-z0-9]+)*$/

/** What the rules of skills let it be called. */
export function skillName(id: string): string {
  const name = id
    .slice(id.lastIndexOf('/') + 1)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, LONGEST_NAME)
    .replaceAll(/^-|-$/g, '')
  return name === '' ? 'skill' : name
}

export function isSkillName(text: string): boolean {
  return text.length <= LONGEST_NAME && NAME.test(text)
}

/**
 * The folder of a skill: `skill://directive/greet`. Its last part has to be the name of the skill; where the id is not,
 * it stands before it: `skill://directive/deploy_app/deploy-app`.
 */
export function skillRoot(itemType: SkillType, id: string): string {
  const name = skillName(id)
  const own = encodeURIComponent(id)
  return `${SCHEME}${itemType}/${own === name ? name : `${own}/${name}`}`
}

export function skillAddress(root: string, path: string): string {
  return `${root}/${path
    .split('/')
    .map((part) => encodeURIComponent(part))
    .join('/')}`
}

/** Null for another kind of address. */
export function skillIn(uri: string): SkillPlace | null {
  if (!uri.startsWith(SCHEME)) return null
  const [kind = '', ...parts] = uri.slice(SCHEME.length).split('/')
  const itemType = kind === 'directive' || kind === 'knowledge' ? kind : null
  const [id = '', ...below] = parts.map((part) => decoded(part, uri))
  if (itemType === null || id === '') throw wrongAddress(uri, 'no skill has it')
  const name = skillName(id)
  const [given, ...rest] = id === name ? [name, ...below] : below
  if (given !== name) throw wrongAddress(uri, `the skill of "${id.slice(0, 128)}" is named "${name}"`)
  const isPlain = rest.every((part, at) => isFileName(part) || (part === '' && at === rest.length - 1))
  if (!isPlain) throw wrongAddress(uri, 'it is no path inside the skill')
  return { itemType, id, path: rest.join('/').replace(/\/$/, '') }
}

function isFileName(part: string): boolean {
  return part !== '' && part !== '.' && part !== '..' && !/[/\\\0]/.test(part)
}
