import { KiwiError } from '../../shared/errors.ts'
import type { JsonObject } from '../../shared/json.ts'
import { sha256 } from '../../shared/json.ts'
import { LIMITS } from '../../shared/limits.ts'
import type { MetaCall } from '../context.ts'
import { findShown } from './find-shown.ts'
import { wrongAddress } from './knowledge-address.ts'
import { listItems } from './list-items.ts'
import { MANIFEST, skillAddress, skillIn } from './skill-address.ts'
import type { Skill, SkillFile } from './skill.ts'
import { readSkill } from './skill.ts'

/** Few, because all files of each are read for their digests. */
const PAGE = 25

/** Directives and knowledge by the Skills extension: every file with its digest and size. */
export async function listSkills(
  { cursor }: { readonly cursor?: string | undefined },
  call: MetaCall,
): Promise<JsonObject> {
  const asked = { itemTypes: ['directive', 'knowledge'], cursor, size: PAGE } as const
  const { listed, lookup, next } = await listItems(asked, call)
  const skills: JsonObject[] = []
  // One after the other: of each all bytes are in memory. One that cannot be read says why where it is asked for alone.
  for (const { item, id } of listed) {
    const skill = await readSkill({ item, lookup }, id, call).catch(() => null)
    if (skill !== null) skills.push(entryOf(skill))
  }
  return { skills, ...next }
}

export async function getSkill({ uri }: { readonly uri: string }, call: MetaCall): Promise<JsonObject> {
  const { skill, path } = await skillAt(uri, call)
  if (path !== MANIFEST) throw wrongAddress(uri, `a skill is named by its ${MANIFEST}`)
  return { skill: entryOf(skill) }
}

function entryOf({ root, frontmatter, files }: Skill): JsonObject {
  const resources = files.map(({ path, content }) => ({
    uri: skillAddress(root, path),
    digest: `sha256:${sha256(content)}`,
    size: content.length,
  }))
  return {
    uri: skillAddress(root, MANIFEST),
    frontmatter,
    resources: resources.toSorted((a, b) => (a.uri < b.uri ? -1 : 1)),
  }
}

/** One file of a skill, as text where nothing is lost by it. */
export async function readSkillFile(uri: string, call: MetaCall): Promise<JsonObject> {
  const { skill, path } = await skillAt(uri, call)
  const file = skill.files.find((one) => one.path === path)
  if (file === undefined) throw noFile(uri)
  assertFits(file, skill, uri)
  assertNoSecret(file, uri, call)
  const text = textIn(file.content)
  return text === null
    ? { mimeType: mimeOf(path, false), blob: Buffer.from(file.content).toString('base64') }
    : { mimeType: mimeOf(path, true), text }
}

/** What lies directly in a folder of a skill. */
export async function readDirectory({ uri }: { readonly uri: string }, call: MetaCall): Promise<JsonObject> {
  const { skill, path: folder } = await skillAt(uri, call)
  const before = folder === '' ? '' : `${folder}/`
  const names = new Set(
    skill.files
      .filter(({ path }) => path.startsWith(before))
      .map(({ path }) => path.slice(before.length).split('/', 1)[0] ?? ''),
  )
  if (names.size === 0) throw wrongAddress(uri, 'it is no folder of a skill')
  const resources = [...names].toSorted().map((name) => {
    const path = before + name
    const file = skill.files.find((one) => one.path === path)
    const at = { uri: skillAddress(skill.root, path), name }
    if (file === undefined) return { ...at, mimeType: FOLDER }
    return { ...at, mimeType: mimeOf(path, textIn(file.content) !== null), size: file.content.length }
  })
  return { resources }
}

async function skillAt(
  uri: string,
  call: MetaCall,
): Promise<{ readonly skill: Skill; readonly path: string }> {
  const place = skillIn(uri)
  if (place === null) throw wrongAddress(uri, 'it is none of those that Kiwi has')
  const shown = await findShown(place.id, place.itemType, call)
  return { skill: await readSkill(shown, place.id, call), path: place.path }
}

function noFile(uri: string): KiwiError {
  return new KiwiError('NOT_FOUND', `Cannot read "${uri.slice(0, 160)}": the skill has no such file`, {
    hint: 'Ask for the skill with skills/get: it names its files',
  })
}

function assertFits({ path, content }: SkillFile, { id, itemType }: Skill, uri: string): void {
  if (content.length <= LIMITS.requestBytes) return
  throw new KiwiError(
    'MESSAGE_TOO_LARGE',
    `Cannot read "${uri.slice(0, 160)}": it has ${content.length} bytes`,
    {
      hint: 'Read it with load, page by page',
      fix: { call: 'load', arguments: { item_type: itemType, item_id: id, path, offset: 0 } },
    },
  )
}

/** A file that had a secret taken out would no longer be what its digest says. */
function assertNoSecret({ content }: SkillFile, uri: string, { kernel }: MetaCall): void {
  const text = Buffer.from(content).toString('utf8')
  if (kernel.redact(text) === text) return
  throw new KiwiError('SECRET_BLOCKED', `Cannot read "${uri.slice(0, 160)}": a secret stands in it`, {
    hint: 'Take the value out of the file and name the secret instead',
  })
}

function textIn(content: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content)
  } catch {
    return null
  }
}

const FOLDER = 'inode/directory'
const MIME: Readonly<Record<string, string>> = {
  md: 'text/markdown',
  json: 'application/json',
  yaml: 'application/yaml',
  yml: 'application/yaml',
  html: 'text/html',
  csv: 'text/csv',
  svg: 'image/svg+xml',
  png: 'image/png',
  jpg: 'image/jpeg',
  pdf: 'application/pdf',
}

function mimeOf(path: string, isText: boolean): string {
  const ending = path.slice(path.lastIndexOf('.') + 1).toLowerCase()
  const known = Object.hasOwn(MIME, ending) ? MIME[ending] : undefined
  return known ?? (isText ? 'text/plain' : 'application/octet-stream')
}
