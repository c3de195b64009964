import type { JsonObject, JsonValue } from '../../shared/json.ts'
import type { Declared } from './declared.ts'
import { CONSTANT_NAMES, metadataOf, readConstants } from './declared.ts'
import { PYTHON } from './dialects.ts'
import type { Docstring } from './docstring.ts'
import { readDocstring } from './docstring.ts'
import { createLiterals } from './literal.ts'
import { maskPython } from './mask.ts'
import { readArguments } from './python-arguments.ts'
import { readEntry } from './python-entry.ts'
import type { PythonSource } from './python-lines.ts'
import { pythonLines } from './python-lines.ts'

/** Reads what a Python file says about itself. It is never run; what it computes is reported, not worked out. */
export async function readPython(source: string, where: string): Promise<Declared> {
  const masked = maskPython(source)
  const python: PythonSource = {
    ...masked,
    lines: pythonLines(masked),
    literals: createLiterals(source, PYTHON, where),
  }
  const { constants, warnings } = assignedIn(python)
  const document = await docstringOf(python)
  const entry = readEntry(python)
  const { schema, config } = readArguments(python)
  const read = readConstants(constants, { ...entry.config, ...config })
  const metadata = metadataOf(constants)
  const description = constants['__tool_description__'] ?? (document.description || undefined)
  return {
    ...(Object.keys(metadata).length > 0 ? metadata : document.metadata),
    ...(typeof description === 'string' ? { description } : {}),
    ...read,
    schema: read.schema ?? document.schema ?? schema ?? entry.schema,
    documentation: document.text,
    warnings: [...warnings, ...document.warnings, ...read.warnings],
  }
}

const CONSTANT = new RegExp(`^(${CONSTANT_NAMES})\\s*(?::[^=]*)?=(?!=)`)

/** Assignments of literals at the top level; the last one counts, as it would when the file is run. */
function assignedIn({ lines, code, literals }: PythonSource): {
  readonly constants: JsonObject
  readonly warnings: readonly string[]
} {
  const constants = new Map<string, JsonValue>()
  const warnings: string[] = []
  for (const { start, end, indent, code: text } of lines) {
    const [whole, name] = indent > 0 ? [] : (CONSTANT.exec(text) ?? [])
    if (whole === undefined || name === undefined) continue
    const literal = literals(start + whole.length)
    if (literal !== null && code.slice(literal.end, end).trim() === '') constants.set(name, literal.value)
    else {
      constants.delete(name)
      warnings.push(`${name} is computed when the file runs: it is not read`)
    }
  }
  return { constants: Object.fromEntries(constants), warnings }
}

async function docstringOf({ lines, code, literals }: PythonSource): Promise<Docstring> {
  const [first] = lines
  const literal = first === undefined ? null : literals(first.start)
  const isAlone = first !== undefined && literal !== null && code.slice(literal.end, first.end).trim() === ''
  return readDocstring(isAlone && typeof literal.value === 'string' ? literal.value : '')
}
