import type { JsonObject } from '../../shared/json.ts'
import { isJsonObject } from '../../shared/json.ts'
import { readFrontMatter } from '../../spaces/front-matter.ts'
import { BODY } from '../../spaces/item.ts'
import { stripSignatures } from '../../spaces/signature-line.ts'
import { withInputs } from '../../spaces/directive/with-inputs.ts'
import { readyCall } from '../../spaces/ready-call.ts'
import type { MetaCall } from '../context.ts'
import { beginning, directiveWords } from './directive-words.ts'
import type { Shown } from './find-shown.ts'
import { assertVouched } from './find-shown.ts'
import { readWhole } from './read-whole.ts'
import { isSkillName, MANIFEST, skillName, skillRoot } from './skill-address.ts'

/** A directive or a piece of knowledge as a folder with a `SKILL.md`. */
export interface Skill {
  readonly itemType: 'directive' | 'knowledge'
  readonly id: string
  /** The address of its folder. */
  readonly root: string
  readonly frontmatter: JsonObject
  readonly files: readonly SkillFile[]
}

export interface SkillFile {
  readonly path: string
  readonly content: Uint8Array
}

/** Its `SKILL.md`. */
interface SkillText {
  readonly frontmatter: JsonObject
  readonly bytes: Uint8Array
}

type ShowCall = Pick<MetaCall, 'kernel'>

const DESCRIPTION_CHARACTERS = 1024
const COMPATIBILITY_CHARACTERS = 500

/** One that came as a skill is what came, byte for byte; the others get a `SKILL.md` made of what they are. */
export async function readSkill(shown: Shown, id: string, call: ShowCall): Promise<Skill> {
  const { item, lookup } = shown
  const itemType = item.manifest.tool_type === 'knowledge' ? 'knowledge' : 'directive'
  const skill = { itemType, id, root: skillRoot(itemType, id) } as const
  await assertVouched([item], lookup, call)
  const files = await item.files()
  const own = files.find(({ path }) => path === MANIFEST && path === item.raw['_file'])
  const others = files.filter(({ path }) => path !== item.raw['_file'] && !TEXTS.has(path))
  const whole = own === undefined ? null : await asItCame(own.content, skillName(id))
  const { frontmatter, bytes } = whole ?? (await written(shown, id, call))
  return { ...skill, frontmatter, files: [{ path: MANIFEST, content: bytes }, ...others] }
}

/** The text of a document is in its `SKILL.md` already. */
const TEXTS: ReadonlySet<string> = new Set([BODY, 'directive.md'])

/** Without the lines that sign it, which no other reader of skills knows; null where it breaks their rules. */
async function asItCame(content: Uint8Array, expected: string): Promise<SkillText | null> {
  const text = Buffer.from(content).toString('utf8')
  const bare = stripSignatures(text, MANIFEST)
  const { given } = await readFrontMatter(bare, MANIFEST)
  const isSkill = /^\uFEFF?---\r?\n/.test(bare) && given['name'] === expected && keepsRules(given)
  return isSkill ? { frontmatter: given, bytes: bare === text ? content : Buffer.from(bare) } : null
}

function keepsRules({ name, description, compatibility, metadata }: JsonObject): boolean {
  return (
    typeof name === 'string' &&
    isSkillName(name) &&
    hasText(description, DESCRIPTION_CHARACTERS) &&
    (compatibility === undefined || hasText(compatibility, COMPATIBILITY_CHARACTERS)) &&
    (metadata === undefined ||
      (isJsonObject(metadata) && Object.values(metadata).every((value) => typeof value === 'string')))
  )
}

function hasText(value: unknown, most: number): boolean {
  return typeof value === 'string' && value !== '' && value.length <= most
}

async function written(shown: Shown, id: string, call: ShowCall): Promise<SkillText> {
  const { version, description } = shown.item.manifest
  const frontmatter = {
    name: skillName(id),
    description: oneLine(description).slice(0, DESCRIPTION_CHARACTERS) || id,
    metadata: { 'kiwi-id': id, version },
  }
  const { name, metadata } = frontmatter
  const lines = [
    '---',
    `name: ${JSON.stringify(name)}`,
    `description: ${JSON.stringify(frontmatter.description)}`,
    'metadata:',
    ...Object.entries(metadata).map(([key, value]) => `  ${key}: ${JSON.stringify(value)}`),
    '---',
    '',
    await bodyOf(shown, id, call),
  ]
  return { frontmatter, bytes: Buffer.from(`${lines.join('\n').trimEnd()}\n`) }
}

async function bodyOf({ item, lookup }: Shown, id: string, call: ShowCall): Promise<string> {
  if (item.manifest.tool_type === 'knowledge') {
    const body = (await item.files()).find(({ path }) => path === BODY)
    return body === undefined ? (item.text ?? '') : Buffer.from(body.content).toString('utf8')
  }
  const parameters = readyCall((await withInputs(item, lookup)).manifest)?.['parameters']
  const begin = beginning(item, id, isJsonObject(parameters) ? parameters : {})
  const { directive, bases } = await readWhole(item, lookup)
  await assertVouched(bases, lookup, call)
  return `${begin}\n\n${directiveWords(directive, {})}`
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim()
}
