import type { JsonObject, JsonValue } from '../../shared/json.ts'
import type { Declared } from './declared.ts'
import { CONSTANT_NAMES, OPEN_SCHEMA, metadataOf, readConstants, typeOf } from './declared.ts'
import { JAVASCRIPT } from './dialects.ts'
import type { Literals } from './literal.ts'
import { createLiterals } from './literal.ts'
import type { Masked } from './mask.ts'
import { maskJavascript } from './mask.ts'

/** Reads what a JavaScript or TypeScript file says about itself: constants at its top level, else tags of its first comment. */
export function readJavascript(source: string, where: string): Declared {
  const masked = maskJavascript(source.replace(/^(\uFEFF?)#![^\n]*/, (shebang) => ' '.repeat(shebang.length)))
  const { constants, warnings } = assignedIn(masked, createLiterals(masked.source, JAVASCRIPT, where))
  const comment = readComment(masked)
  const read = readConstants(constants, styleOf(masked.code))
  const description = constants['__tool_description__'] ?? (comment.description || undefined)
  return {
    ...comment.metadata,
    ...metadataOf(constants),
    ...(typeof description === 'string' ? { description } : {}),
    ...read,
    schema: read.schema ?? (comment.parameters.length > 0 ? { parameters: comment.parameters } : OPEN_SCHEMA),
    documentation: comment.text,
    warnings: [...warnings, ...read.warnings],
  }
}

const CONSTANT = new RegExp(
  `^(?:export[ \\t]+)?const[ \\t]+(${CONSTANT_NAMES})[ \\t]*(?::[^=\\n]*)?=(?!=)`,
  'gm',
)
/** What may follow a value: nothing, or what is about its type only. */
const REST = /^[ \t]*(?:;|\r?\n|$|as[ \t]|satisfies[ \t])/

function assignedIn(
  { code }: Masked,
  literals: Literals,
): { readonly constants: JsonObject; readonly warnings: readonly string[] } {
  const constants = new Map<string, JsonValue>()
  const warnings: string[] = []
  for (const found of code.matchAll(CONSTANT)) {
    const [whole, name = ''] = found
    const literal = literals(found.index + whole.length)
    if (literal !== null && REST.test(code.slice(literal.end))) constants.set(name, literal.value)
    else warnings.push(`${name} is computed when the file runs: it is not read`)
  }
  return { constants: Object.fromEntries(constants), warnings }
}

interface Comment {
  readonly description: string
  readonly metadata: Partial<Declared>
  readonly parameters: readonly JsonObject[]
  readonly text: string
}

/** The first block comment: its text up to an empty line or a tag, and its tags. */
function readComment({ source, comments }: Masked): Comment {
  const [first] = comments
  const whole = first === undefined ? '' : source.slice(first.start + 2, first.end)
  const inside = whole.endsWith('*/') ? whole.slice(0, -2) : whole
  const lines = inside.split('\n').map((line) =>
    line
      .trim()
      .replace(/^\*+ ?/, '')
      .trimEnd(),
  )
  const text = lines.join('\n').trim()
  const start = lines.findIndex((line) => line !== '')
  const rest = start < 0 ? [] : lines.slice(start)
  const end = rest.findIndex((line) => line === '' || line.startsWith('@'))
  const tags = lines.flatMap((line) => {
    const [, name, value] = /^@(\w+)\s+(.*)$/.exec(line) ?? []
    return name === undefined || value === undefined ? [] : [[name, value] as const]
  })
  const tag = (name: string): string | undefined => tags.find(([each]) => each === name)?.[1]
  const metadata = [
    ['version', tag('version')],
    ['category', tag('category')],
  ].filter(([, value]) => value !== undefined)
  return {
    description: (end < 0 ? rest : rest.slice(0, end)).join(' ').trim() || (tag('description') ?? ''),
    metadata: Object.fromEntries(metadata),
    parameters: tags.filter(([name]) => name === 'param').flatMap(([, value]) => parameterOf(value)),
    text,
  }
}

/** `{type} name text`; `[name]` and `[name=value]` may be left out. */
function parameterOf(tag: string): readonly JsonObject[] {
  const [, type = '', optional, usual, required, description = ''] =
    /^(?:\{([^}]*)\}\s+)?(?:\[(\w+)(?:=([^\]]*))?\]|(\w+))\s*(?:-\s*)?(.*)$/.exec(tag) ?? []
  const name = optional ?? required
  if (name === undefined) return []
  return [
    {
      name,
      type: /\[\]$|^Array\b/.test(type) ? 'array' : typeOf(type),
      required: required !== undefined,
      ...(description === '' ? {} : { description }),
      ...(usual === undefined || typeOf(type) !== 'string' ? {} : { default: usual }),
    },
  ]
}

const EXPORTED = [
  ['default', /^export[ \t]+default[ \t]+(?:async[ \t]+)?(?:function\b|\(|\w+[ \t]*=>)/m],
  ['main', /^export[ \t]+(?:(?:async[ \t]+)?function[ \t*]+main\b|const[ \t]+main\b)/m],
  ['run', /^export[ \t]+(?:(?:async[ \t]+)?function[ \t*]+run\b|const[ \t]+run\b)/m],
] as const
/** It calls itself, or reads what it is given. */
const SELF_RUN =
  /\bprocess\s*\.\s*(?:argv|stdin)\b|\bDeno\s*\.\s*args\b|\brequire\s*\.\s*main\b|\bimport\s*\.\s*meta\s*\.\s*(?:url|main)\b|^(?:await[ \t]+|void[ \t]+)?(?:main|run)[ \t]*\(/m

/** A file that only exports its function is to be called by it. */
function styleOf(code: string): JsonObject {
  const [name] = EXPORTED.find(([, pattern]) => pattern.test(code)) ?? []
  return name === undefined || SELF_RUN.test(code) ? {} : { args_style: 'call', entry_function: name }
}
