import { basename } from 'node:path'
import { ItemName } from '../shared/ids.ts'
import type { JsonObject, JsonValue } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import { textOf } from '../shared/template.ts'
import { parameterOf } from './directive/inputs.ts'
import { parseDirective } from './directive/parse-directive.ts'
import { parseFault } from './directive/parse-fault.ts'
import { headingOf, readFrontMatter } from './front-matter.ts'
import { isVersion } from './manifest.ts'
import type { Position } from './parse-document.ts'
import type { Entry } from './scan.ts'
import { keyOf } from './source/declared.ts'

interface ReadDocument {
  readonly raw: JsonObject
  /** The text below the front matter. */
  readonly body: string
}

/** A piece of knowledge: front matter is its manifest, the rest its content. */
export async function readKnowledge(text: string, { stem, path }: Entry): Promise<ReadDocument> {
  const { given, body, at } = await readFrontMatter(text, path)
  const { entry_type = 'learning', source_type = null, source_url = null, ...others } = given
  // Vectors are made anew, and the signature of old is none of its content.
  const {
    id,
    zettel_id,
    title,
    name: called,
    embedding: _e,
    validated_at: _v,
    content_hash: _h,
    ...kept
  } = others
  const config: JsonObject = {
    entry_type,
    ...(source_type === null ? {} : { source_type }),
    ...(source_url === null ? {} : { source_url }),
  }
  const name = textOf(title ?? called ?? headingOf(body) ?? stem)
  const key = (id ?? null) === null ? 'zettel_id' : 'id'
  const own = id ?? zettel_id ?? stem
  assertId(own, { stem, path }, at([key]))
  const identity = { tool_id: own, name, description: name }
  return { raw: { ...identity, config, ...kept, tool_type: 'knowledge', executor: null }, body }
}

/** What cannot be an id is told where it stands; of a file that gives itself none, it is the name of the file. */
function assertId(id: JsonValue, { stem, path }: Pick<Entry, 'stem' | 'path'>, at: Position): void {
  const fault = ItemName.safeParse(id).error?.issues[0]?.message
  if (fault === undefined) return
  if (typeof id !== 'string')
    throw parseFault(path, `the id ${JSON.stringify(id)} is no text`, at, { hint: 'Write the id in quotes' })
  const said = id === stem ? `its name "${stem}"` : `"${id}"`
  throw parseFault(path, `${said} cannot be an id: ${fault}`, at, {
    hint: id === stem ? 'Rename it, or write an id into it' : 'Write another id',
  })
}

/** Keys of a directive's front matter that are keys of every manifest; the others are its own, and go to `config`. */
const MANIFEST_KEYS = new Set([
  'version',
  'description',
  'category',
  'tags',
  'author',
  'enabled',
  'secrets',
  'locked',
])

/** As its author wrote it: to YAML 1.0 is the number 1. */
function writtenVersion(text: string, line: number): string | undefined {
  return /\bversion["']?\s*[:=]\s*["']?([^\s"',}<>]+)/.exec(text.split('\n', line).at(-1) ?? '')?.[1]
}

/** The manifest of a directive, in whichever dialect it is written. */
export async function readDirectiveManifest(
  text: string,
  { stem, path }: Pick<Entry, 'stem' | 'path'>,
): Promise<JsonObject> {
  const isSkill = basename(path) === 'SKILL.md'
  const { given, directive, heading, versionAt } = await parseDirective(text, { where: path, stem, isSkill })
  const { name: _name, inputs: _inputs, config: settings, ...others } = given
  const keys = Object.entries(others)
  const top = Object.fromEntries(keys.filter(([key]) => MANIFEST_KEYS.has(key)))
  const own = Object.fromEntries(keys.filter(([key]) => !MANIFEST_KEYS.has(key)))
  const { name, version, description, category, inputs } = directive
  if (typeof (given['version'] ?? '') !== 'string' || !isVersion(version))
    throw parseFault(
      path,
      `the version ${writtenVersion(text, versionAt.line) ?? version} is none`,
      versionAt,
      {
        hint: 'Write a version of three numbers, such as 1.0.0',
      },
    )
  assertId(name, { stem, path }, { line: 1, column: 1 })
  return {
    tool_id: name,
    ...keyOf('version', version === '0.0.0' ? undefined : version),
    ...keyOf('description', description === '' ? heading : description),
    ...keyOf('category', category ?? undefined),
    ...top,
    config: { ...own, ...(isJsonObject(settings) ? settings : {}) },
    ...(inputs.length === 0 ? {} : { parameters: inputs.map(parameterOf) }),
    tool_type: 'directive',
    executor: 'llm_runtime',
  }
}
