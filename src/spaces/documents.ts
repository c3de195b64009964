import { basename } from 'node:path'
import type { JsonObject } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import { textOf } from '../shared/template.ts'
import { parameterOf } from './directive/inputs.ts'
import { parseDirective } from './directive/parse-directive.ts'
import { parseFault } from './directive/parse-fault.ts'
import { headingOf, readFrontMatter } from './front-matter.ts'
import { isVersion } from './manifest.ts'
import type { Entry } from './scan.ts'
import { keyOf } from './source/declared.ts'

interface ReadDocument {
  readonly raw: JsonObject
  /** The text below the front matter. */
  readonly body: string
}

/** A piece of knowledge: front matter is its manifest, the rest its content. */
export async function readKnowledge(text: string, { stem, path }: Entry): Promise<ReadDocument> {
  const { given, body } = await readFrontMatter(text, path)
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
  const identity = { tool_id: id ?? zettel_id ?? stem, name, description: name }
  return { raw: { ...identity, config, ...kept, tool_type: 'knowledge', executor: null }, body }
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
