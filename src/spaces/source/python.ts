import type { JsonObject, JsonValue } from '../../shared/json.ts'
import { isJsonObject } from '../../shared/json.ts'
import type { Declared } from './declared.ts'
import { readSchema } from './declared.ts'
import { PYTHON } from './dialects.ts'
import type { Docstring } from './docstring.ts'
import { readDocstring } from './docstring.ts'
import { createLiterals } from './literal.ts'
import { maskPython } from './mask.ts'
import { readEntry } from './python-entry.ts'
import type { PythonSource } from './python-lines.ts'
import { pythonLines } from './python-lines.ts'
import { readArguments } from './python-arguments.ts'

/** Reads what a Python file says about itself. It is never run; what it computes is reported, not worked out. */
export async function readPython(source: string, where: string): Promise<Declared> {
  const masked = maskPython(source)
  const python: PythonSource = {
    ...masked,
    lines: pythonLines(masked),
    literals: createLiterals(source, PYTHON, where),
  }
  const { constants, warnings } = readConstants(python)
  const document = await docstringOf(python)
  const entry = readEntry(python)
  const config = isJsonObject(constants['CONFIG']) ? constants['CONFIG'] : {}
  const declared = readSchema(constants['CONFIG_SCHEMA'] ?? null)
  const { schema, config: style } = readArguments(python)
  return {
    ...metadataOf(constants, document),
    ...mutationOf(constants, config),
    config: {
      ...entry.config,
      ...style,
      ...(constants['requires'] === undefined ? {} : { requires: constants['requires'] }),
      ...config,
    },
    schema: declared ?? document?.schema ?? schema ?? entry.schema,
    more: {
      ...(isJsonObject(constants['ENV_CONFIG']) ? { env_config: constants['ENV_CONFIG'] } : {}),
      ...(isJsonObject(constants['VALIDATION']) ? { validation: constants['VALIDATION'] } : {}),
    },
    documentation: document?.text ?? '',
    warnings: [
      ...warnings,
      ...(document?.warnings ?? []),
      ...(declared === null && constants['CONFIG_SCHEMA'] !== undefined
        ? ['CONFIG_SCHEMA has none of the forms a schema can have']
        : []),
    ],
  }
}

const CONSTANTS =
  /^(__version__|__tool_type__|__executor_id__|__category__|__tool_description__|CONFIG|CONFIG_SCHEMA|ENV_CONFIG|VALIDATION|requires|mutates_state)\s*(?::[^=]*)?=(?!=)/

/** Assignments of literals at the top level; the last one counts, as it would when the file is run. */
function readConstants({ lines, code, literals }: PythonSource): {
  readonly constants: JsonObject
  readonly warnings: readonly string[]
} {
  const constants = new Map<string, JsonValue>()
  const warnings: string[] = []
  for (const { start, end, indent, code: text } of lines) {
    const [whole, name] = indent > 0 ? [] : (CONSTANTS.exec(text) ?? [])
    if (whole === undefined || name === undefined) continue
    const literal = literals(start + whole.length)
    if (literal !== null && code.slice(literal.end, end).trim() === '') constants.set(name, literal.value)
    else warnings.push(`${name} is computed when the file runs: it is not read`)
  }
  return { constants: Object.fromEntries(constants), warnings }
}

async function docstringOf({ lines, code, literals }: PythonSource): Promise<Docstring | null> {
  const [first] = lines
  const literal = first === undefined ? null : literals(first.start)
  if (first === undefined || literal === null || typeof literal.value !== 'string') return null
  return code.slice(literal.end, first.end).trim() === '' ? readDocstring(literal.value) : null
}

function metadataOf(constants: JsonObject, document: Docstring | null): Partial<Declared> {
  const names = ['version', 'tool_type', 'executor_id', 'category'] as const
  const isInModule = names.some((name) => constants[`__${name}__`] !== undefined)
  const found: Record<string, JsonValue> = {}
  for (const name of names) {
    const value = isInModule ? constants[`__${name}__`] : document?.metadata[name]
    if (value !== undefined && value !== null) found[name === 'executor_id' ? 'executor' : name] = value
  }
  const { __tool_description__: given } = constants
  const description = typeof given === 'string' ? given : document?.description
  return { ...found, ...(description === undefined || description === '' ? {} : { description }) }
}

function mutationOf({ mutates_state }: JsonObject, config: JsonObject): Partial<Declared> {
  const given = mutates_state ?? config['mutates_state']
  return given === undefined ? {} : { mutates_state: given }
}
