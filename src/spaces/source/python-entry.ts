import type { JsonObject, JsonValue } from '../../shared/json.ts'
import { textOf } from '../../shared/template.ts'
import { OPEN_SCHEMA, typeOf } from './declared.ts'
import type { Line, PythonSource } from './python-lines.ts'

interface Entry {
  /** How parameters arrive, as far as the source tells. */
  readonly config: JsonObject
  readonly schema: JsonObject
}

const PARSERS = /^(?:import|from)\s+(?:argparse|click|typer|fire|optparse)\b/
const GUARD = /^if\s+(?:__name__\s*==|"\s*"\s*==\s*__name__)/

/** How a script takes its parameters: by the library it uses, by what it reads, or by the function that would be called. */
export function readEntry(python: PythonSource): Entry {
  const { lines, code } = python
  const functions = new Map(
    lines.flatMap((line) => {
      const name = line.indent > 0 ? undefined : FUNCTION.exec(line.code)?.[1]
      return name === undefined ? [] : [[name, line] as const]
    }),
  )
  const [name, line] = [...functions].toSorted(byName)[0] ?? []
  const schema = line === undefined ? null : signatureOf(line, python)
  if (lines.some((each) => PARSERS.test(each.code))) {
    return { config: { args_style: 'flags' }, schema: schema ?? OPEN_SCHEMA }
  }
  if (/\bsys\s*\.\s*argv\b/.test(code)) return { config: { args_style: 'positional' }, schema: OPEN_SCHEMA }
  if (name === undefined || schema === null) return { config: {}, schema: OPEN_SCHEMA }
  const isGuarded = lines.some((each) => each.indent === 0 && GUARD.test(each.code))
  const isLeft = !isGuarded && !callsItself(name, lines)
  return { config: isLeft ? { args_style: 'call', entry_function: name } : {}, schema }
}

/** A script that runs by itself would be run twice. */
function callsItself(name: string, lines: readonly Line[]): boolean {
  const call = new RegExp(`\\b${name}\\s*\\(`)
  return lines.some(({ indent, code }) => indent === 0 && !FUNCTION.test(code) && call.test(code))
}

const FUNCTION = /^(?:async\s+)?def\s+(main|run|execute)\s*\(/

function byName([a]: readonly [string, Line], [b]: readonly [string, Line]): number {
  const order = ['main', 'run', 'execute']
  return order.indexOf(a) - order.indexOf(b)
}

/** The parameters of a function, as the parameters of the tool. */
function signatureOf({ start, code: head }: Line, python: PythonSource): JsonObject {
  const open = start + head.indexOf('(')
  const parts = partsOf(python.code, open)
  const names = parts.map(({ text }) => /^\w+/.exec(text)?.[0])
  // Called with everything at once.
  if (names[0] === 'params' && names.every((name) => name === 'params' || name === 'project_path')) {
    return OPEN_SCHEMA
  }
  const parameters = parts.flatMap((part) => parameterOf(part, python))
  const isOpen = parts.some(({ text }) => /^\*\s*\*?\s*\w/.test(text))
  if (!isOpen) return { parameters }
  const properties = parameters.map(({ name, required: _required, type, ...rest }) => [
    textOf(name),
    { ...(type === 'any' ? {} : { type: type ?? 'string' }), ...rest },
  ])
  const required = parameters.filter((each) => each['required'] === true).map((each) => each['name'] ?? null)
  return {
    input_schema: {
      type: 'object',
      properties: Object.fromEntries(properties),
      ...(required.length > 0 ? { required } : {}),
      additionalProperties: true,
    },
  }
}

export interface Part {
  readonly start: number
  readonly text: string
}

/** Characters of one call or signature: a bracket that is never closed must not be read to the end each time. */
const LONGEST = 16 * 1024

/** What stands between the commas of a bracket that opens at this place. */
export function partsOf(code: string, open: number): readonly Part[] {
  const parts: Part[] = []
  const next = /[()[\]{},]/g
  next.lastIndex = open
  let depth = 0
  let from = open + 1
  const close = (end: number): void => {
    const text = code.slice(from, end)
    const lead = text.length - text.trimStart().length
    if (text.trim() !== '') parts.push({ start: from + lead, text: text.trim() })
    from = end + 1
  }
  for (let found = next.exec(code); found !== null; found = next.exec(code)) {
    if (found.index - open > LONGEST) return []
    if ('([{'.includes(found[0])) depth += 1
    else if (found[0] === ',') {
      if (depth === 1) close(found.index)
    } else {
      depth -= 1
      if (depth > 0) continue
      close(found.index)
      return parts
    }
  }
  return []
}

function parameterOf({ start, text }: Part, { literals }: PythonSource): readonly JsonObject[] {
  const [, name, annotation] = /^([A-Za-z_]\w*)\s*(?::([^=]*))?/.exec(text) ?? []
  if (name === undefined || name === 'self') return []
  const equals = text.indexOf('=')
  const literal = equals < 0 ? null : literals(start + equals + 1, true)
  const [, word = ''] = /^\s*(?:typing\.)?(?:Optional\[)?(\w+)/.exec(annotation ?? '') ?? []
  const usual: JsonValue | undefined = literal?.value
  return [
    {
      name,
      type: typeOf(word),
      required: equals < 0,
      ...(usual === undefined || usual === null ? {} : { default: usual }),
    },
  ]
}
