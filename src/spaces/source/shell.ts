import type { JsonObject, JsonValue } from '../../shared/json.ts'
import { parsePlain } from '../../shared/json.ts'
import type { Declared } from './declared.ts'
import { OPEN_SCHEMA, keyOf, readParameterLine } from './declared.ts'

const METADATA = /^(?:__)?([a-z_]+?)(?:__)?\s*[:=]\s*(.+)$/
const KEYS: ReadonlyMap<string, string> = new Map([
  ['version', 'version'],
  ['category', 'category'],
  ['tool_type', 'tool_type'],
  ['executor', 'executor'],
  ['executor_id', 'executor'],
  ['mutates_state', 'mutates_state'],
])

/** Reads what a shell script says about itself in the comments at its top. */
export function readShell(source: string): Declared {
  const found = new Map<string, JsonValue>()
  const parameters: JsonObject[] = []
  const prose: string[] = []
  for (const line of headOf(source)) {
    const [, name = '', value = ''] = METADATA.exec(line) ?? []
    const parameter = line.startsWith('param ') ? readParameterLine(line.slice('param '.length)) : null
    const key = KEYS.get(name)
    if (parameter !== null) parameters.push(parameter)
    else if (key === undefined) prose.push(line)
    else if (!found.has(key)) found.set(key, valueOf(value))
  }
  const documentation = prose.join('\n').trim()
  const [description = ''] = documentation.split('\n\n')
  return {
    ...Object.fromEntries(found),
    ...keyOf('description', description.replaceAll('\n', ' ') || undefined),
    config: {},
    schema: parameters.length > 0 ? { parameters } : OPEN_SCHEMA,
    more: {},
    documentation,
    warnings: [],
  }
}

/** Comment lines before the first line of code, without their mark; an empty one parts blocks. */
function headOf(source: string): readonly string[] {
  const lines: string[] = []
  for (const line of source.replace(/^\uFEFF?#![^\n]*\n?/, '').split('\n')) {
    const text = line.trim()
    if (text !== '' && !text.startsWith('#')) break
    lines.push(text.replace(/^#+\s*/, ''))
  }
  return lines
}

/** A value as it is, without quotes around it; true and false are no text. */
function valueOf(text: string): JsonValue {
  const value = text.trim().replace(/^(["'])(.*)\1$/, '$2')
  const isWord = /^(?:true|false)$/i.test(value)
  return isWord ? (parsePlain(value.toLowerCase()) ?? value) : value
}
