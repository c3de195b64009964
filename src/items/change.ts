import { z } from 'zod'
import type { Location, Wish } from '../kernel/call.ts'
import { KiwiError } from '../shared/errors.ts'
import { IN_WORDS, fieldFaults } from '../shared/field-faults.ts'
import type { JsonObject } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import type { ItemType } from '../shared/tool-type.ts'
import { File, TextOrKeys, toFile } from './files.ts'

const location = z.enum(['project', 'user', 'registry']).optional()
const text = z.string().max(4096).optional()

const UpdateParameters = z.strictObject({
  manifest: TextOrKeys.optional(),
  content: TextOrKeys.optional(),
  files: z.record(z.string(), z.union([File, z.null()])).optional(),
  version: text,
  location,
  changelog: text,
  expected_hash: text,
})

const PublishParameters = z.strictObject({ version: text, changelog: text, location })

type Update = Omit<Extract<Wish, { kind: 'update' }>, 'kind' | 'ref' | 'itemType'>
type Publish = Omit<Extract<Wish, { kind: 'publish' }>, 'kind' | 'ref' | 'itemType'>

/** What `update` is to change. */
export function readUpdate(itemId: string, parameters: JsonObject, itemType: ItemType): Update {
  const given = itemType === 'knowledge' ? withKeys(parameters) : parameters
  const { manifest, content, files, ...rest } = read(UpdateParameters, 'update', itemId, given)
  const isNothing = [manifest, content, files, rest.version].every((part) => part === undefined)
  if (isNothing) {
    throw new KiwiError('INVALID_PARAMETERS', `Cannot update "${itemId}": nothing says what is to change`, {
      hint: 'Give parameters.manifest, content, files or version',
      details: { missing: ['manifest'], invalid: [] },
    })
  }
  // An object can only be meant as keys of the manifest.
  const isKeys = typeof content === 'object' && manifest === undefined
  const changed = Object.entries(files ?? {}).map(
    ([path, file]) => [path, file === null ? null : toFile(path, file)] as const,
  )
  if (typeof content === 'object' && !isKeys) throw twice(itemId)
  return {
    change: {
      manifest: isKeys ? content : manifest,
      content: typeof content === 'string' ? content : undefined,
      files: new Map(changed),
    },
    ...common(rest),
    expectedHash: rest.expected_hash ?? null,
  }
}

/** What is said of a piece of knowledge may stand beside its text, as when it is made. */
const KEYS: ReadonlySet<string> = new Set(
  'title description entry_type tags references extends source_type source_url author schema'.split(' '),
)

function withKeys(given: JsonObject): JsonObject {
  const entries = Object.entries(given)
  const keys = Object.fromEntries(entries.filter(([key]) => KEYS.has(key)))
  const { manifest = {}, ...rest } = Object.fromEntries(entries.filter(([key]) => !KEYS.has(key)))
  if (Object.keys(keys).length === 0 || !isJsonObject(manifest)) return given
  return { ...rest, manifest: { ...manifest, ...keys } }
}

/** Under which version an item is to be published, and with what word about it. */
export function readPublish(itemId: string, given: JsonObject): Publish {
  return common(read(PublishParameters, 'publish', itemId, given))
}

function common(given: z.infer<typeof PublishParameters>): Publish {
  const { version = null, changelog = null, location: space = null } = given
  return { version, changelog, location: space satisfies Location | null }
}

function read<T>(schema: z.ZodType<T>, action: string, itemId: string, given: JsonObject): T {
  const parsed = schema.safeParse(given, IN_WORDS)
  if (parsed.success) return parsed.data
  const unknown = parsed.error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((name) => ({ name, reason: 'not allowed here' }))
      : [],
  )
  const invalid = [
    ...fieldFaults(parsed.error.issues.filter((issue) => issue.code !== 'unrecognized_keys')),
    ...unknown,
  ]
  const faults = invalid.map(({ name, reason }) => `"${name}" ${reason}`).join('; ')
  throw new KiwiError('INVALID_PARAMETERS', `Cannot ${action} "${itemId}": ${faults}`, {
    ...(action === 'update' && unknown.length > 0 ? { hint: UNDER_MANIFEST } : {}),
    details: { missing: [], invalid },
  })
}

const UNDER_MANIFEST =
  'update takes content, manifest, files, version, changelog, location and expected_hash; keys of the item go under manifest'

function twice(itemId: string): KiwiError {
  return new KiwiError(
    'INVALID_PARAMETERS',
    `Cannot update "${itemId}": "content" and "manifest" say the same`,
    {
      hint: 'Give the keys that change under "manifest"',
      details: { missing: [], invalid: [{ name: 'content', reason: 'not together with manifest' }] },
    },
  )
}
