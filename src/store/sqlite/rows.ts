import { z } from 'zod'
import { KiwiError } from '../../shared/errors.ts'
import type { JsonObject } from '../../shared/json.ts'
import { isJsonObject } from '../../shared/json.ts'
import { TOOL_TYPES } from '../../shared/tool-type.ts'

/** Gives a row its type. A row of another shape was written by nothing of ours. */
export function readRow<T>(schema: z.ZodType<T>, row: unknown): T {
  const parsed = schema.safeParse(row)
  if (parsed.success) return parsed.data
  throw new KiwiError('STORE_UNAVAILABLE', 'Cannot read a row of the store: it has another shape', {
    details: { columns: parsed.error.issues.map(({ path }) => path.join('.')) },
    cause: parsed.error,
  })
}

const flag = z.literal([0, 1]).transform((value) => value === 1)
export const toolType = z.enum(TOOL_TYPES)

/** A column of JSON that holds an object. */
export const jsonObject = z.string().transform((text, context): JsonObject => {
  const value: unknown = JSON.parse(text)
  if (isJsonObject(value)) return value
  context.addIssue('not an object')
  return z.NEVER
})

/** A column of JSON that holds a list of texts. */
export const jsonTexts = z.string().transform((text) => z.array(z.string()).parse(JSON.parse(text)))

/** The columns of a StoredVersion, from tools `t` and tool_versions `v`. The tool's category is that of its latest version. */
export const VERSION_COLUMNS = `t.tool_id, t.tool_type, v.executor_id, v.version, v.manifest, v.manifest_yaml,
  (SELECT json_group_array(f.path) FROM tool_version_files f WHERE f.version_pk = v.id) AS file_paths,
  CASE WHEN v.is_latest = 1 THEN t.category || coalesce('/' || t.subcategory, '') END AS category,
  v.content_hash, t.is_builtin, t.is_official, v.created_at`

export const VersionRow = z.object({
  tool_id: z.string(),
  tool_type: toolType,
  executor_id: z.string().nullable(),
  version: z.string(),
  manifest: jsonObject,
  manifest_yaml: z.string().nullable(),
  content_hash: z.string(),
  file_paths: jsonTexts,
  category: z.string().nullable(),
  is_builtin: flag,
  is_official: flag,
  created_at: z.string(),
})

export const SummaryRow = z.object({
  version: z.string(),
  content_hash: z.string(),
  changelog: z.string().nullable(),
  is_latest: flag,
  created_at: z.string(),
})

export const RemovedRow = z.object({ content_hash: z.string() })

export const ToolRow = z.object({
  id: z.string(),
  tool_id: z.string(),
  tool_type: toolType,
  is_official: flag,
  latest_version: z.string().nullable(),
})
export type ToolRow = z.infer<typeof ToolRow>
