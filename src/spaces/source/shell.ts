import type { JsonObject, JsonValue } from '../../shared/json.ts'
import { parsePlain } from '../../shared/json.ts'
import type { Declared } from './declared.ts'
import { OPEN_SCHEMA, readParameterLine } from './declared.ts'

const KEYS: Readonly<Record<string, keyof Declared>> = {
  version: 'version',
  category: 'category',
  tool_type: 'tool_type',
  executor: 'executor',
  executor_id: 'executor',
  mutates_state: 'mutates_state',
}
const METADATA = /^(?:__)?([a-z_]+?)(?:__)?\s*[:=]\s*(.+)$/

/** Reads what a shell script says about itself in the comments at its top. */
export function readShell(source: string): Declared {
  const found: Record<string, JsonValue> = {}
  const parameters: JsonObject[] = []
  const config: Record<string, JsonValue> = {}
  const blocks: string[][] = [[]]
  for (const line of headOf(source)) {
    const [, name = '', value = ''] = METADATA.exec(line) ?? []
    const parameter = line.startsWith('param ') ? readParameterLine(line.slice('param '.length)) : null
    const key = Object.hasOwn(KEYS, name) ? KEYS[name] : undefined
    if (parameter !== null) parameters.push(parameter)
    else if (key !== undefined) found[key] ??= valueOf(value)
    else if (name === 'requires') config['requires'] = value.split(',').map((each) => each.trim())
    else if (line === '') blocks.push([])
    else blocks.at(-1)?.push(line)
  }
  const description = blocks.find((block) => block.length > 0)?.join(' ')
  return {
    ...found,
    ...(description === undefined ? {} : { description }),
    config,
    schema: parameters.length > 0 ? { parameters } : OPEN_SCHEMA,
    more: {},
    documentation: blocks
      .map((block) => block.join('\n'))
      .join('\n\n')
      .trim(),
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
