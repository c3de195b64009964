import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { textOf } from '../shared/template.ts'
import { editManifest } from '../spaces/edit-manifest.ts'
import { parseDocument } from '../spaces/parse-document.ts'
import type { WrittenItem } from '../spaces/written-item.ts'
import { manifestText } from '../spaces/written-item.ts'
import type { ItemFile } from '../store/store.ts'
import type { Kind } from './actions.ts'

/** What a caller said of a new item, in whatever form. */
export interface Described {
  readonly kind: Kind
  readonly id: string | undefined
  readonly content: string | JsonObject | undefined
  readonly manifest: string | JsonObject | undefined
  /** Keys of the manifest that stand beside it. */
  readonly beside: JsonObject
  readonly files: readonly ItemFile[]
}

/** An item with the name it will have. */
export interface Named {
  readonly id: string
  readonly written: WrittenItem
}

/** The manifest with what the call says of it. A text keeps its comments and layout. */
export async function completed(
  { kind, id, beside }: Pick<Described, 'kind' | 'id' | 'beside'>,
  source: string | JsonObject,
): Promise<{ readonly raw: JsonObject; readonly text: string }> {
  const where = `manifest of ${id ?? 'item'}`
  const declared = typeof source === 'string' ? await parseDocument(source, where) : source
  const raw = complete({ ...declared, ...beside }, kind, id)
  if (typeof source !== 'string') return { raw, text: await manifestText(raw) }
  const gone = Object.keys(declared).filter((key) => raw[key] === undefined)
  const changes = { ...raw, ...Object.fromEntries(gone.map((key) => [key, null])) }
  return { raw, text: await editManifest(source, changes, where) }
}

/** What a type of item is in the tables; a tool says it itself. */
const IMPLIED: Readonly<Partial<Record<Kind, string>>> = {
  directive: 'directive',
  knowledge: 'knowledge',
  mcp: 'mcp_server',
  thread: 'thread',
}

/** The id of the call is the id of the item, and what is new starts at 1.0.0. */
function complete(raw: JsonObject, kind: Kind, itemId: string | undefined): JsonObject {
  const { tool_id, id, name, tool_type, version = '1.0.0', ...rest } = raw
  const declared = tool_id ?? id ?? (itemId === undefined ? name : undefined)
  const type = tool_type ?? IMPLIED[kind]
  const wanted = itemId ?? declared ?? null
  if (wanted !== (declared ?? wanted))
    throw mismatch(textOf(wanted), 'tool_id', `its manifest says "${textOf(declared)}"`)
  if (type !== (IMPLIED[kind] ?? type)) {
    throw mismatch(textOf(wanted), 'tool_type', `a ${kind} is not of type "${textOf(type)}"`)
  }
  return {
    tool_id: wanted,
    ...(type === undefined ? {} : { tool_type: type }),
    version,
    ...(name === undefined || name === declared ? {} : { name }),
    ...rest,
  }
}

function mismatch(itemId: string, name: string, reason: string): KiwiError {
  return new KiwiError('INVALID_PARAMETERS', `Cannot create "${itemId}": ${reason}`, {
    hint: 'Say the same in the call and in the manifest',
    details: { missing: [], invalid: [{ name, reason }] },
  })
}
