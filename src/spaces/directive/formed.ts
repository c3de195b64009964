import type { JsonObject, JsonValue } from '../../shared/json.ts'
import { isJsonObject } from '../../shared/json.ts'
import { textOf } from '../../shared/template.ts'
import type { Note } from './note.ts'
import type { Position } from './position.ts'

/** How front matter is read: where its values stand, and what is said of them. */
export interface Reading {
  readonly at: (path: readonly PropertyKey[]) => Position
  readonly note: Note
  /** Says that a value has not the form that is read there, and how it is written. */
  readonly wrong: (path: readonly PropertyKey[], reason: string, hint: string) => void
}

interface Key {
  readonly path: readonly PropertyKey[]
  /** What it takes, and how that is written. */
  readonly takes: string
  readonly write: string
}

/** A value in its form; null when it is not there, and when it has another, which is said. */
export function formed<T>(
  value: JsonValue | undefined,
  form: (given: JsonValue) => T | null,
  { path, takes, write }: Key,
  { wrong }: Pick<Reading, 'wrong'>,
): T | null {
  if (value === undefined || value === null || value === '') return null
  const read = form(value)
  if (read === null)
    wrong(path, `"${path.join('.')}" is ${kindOf(value)}: it takes ${takes}`, `Write ${write}`)
  return read
}

function kindOf(value: JsonValue): string {
  if (Array.isArray(value)) return 'a list'
  if (isJsonObject(value)) return 'a mapping'
  return typeof value === 'string' ? 'a text' : textOf(value)
}

export function textForm(given: JsonValue): string | null {
  return typeof given === 'string' ? given : null
}

export function listForm(given: JsonValue): readonly JsonValue[] | null {
  return Array.isArray(given) ? given : null
}

export function mappingForm(given: JsonValue): JsonObject | null {
  return isJsonObject(given) ? given : null
}

/** A mapping, or as of elements a list with a mapping for each, its name as the only key. */
export function pairsForm(given: JsonValue): readonly (readonly [string, JsonValue])[] | null {
  const all = Array.isArray(given) ? given : [given]
  return all.every(isJsonObject) ? all.flatMap((one: JsonObject) => Object.entries(one)) : null
}
