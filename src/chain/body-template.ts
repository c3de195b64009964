import { KiwiError } from '../shared/errors.ts'
import type { JsonValue } from '../shared/json.ts'
import { isObject, parsePlain } from '../shared/json.ts'
import type { Template, Tree, Values } from '../shared/template.ts'
import { compileTree, renderSegment, renderTree, textOf } from '../shared/template.ts'

const FORM = 'application/x-www-form-urlencoded'
/** One JSON value a line. */
const isLinesType = (contentType: string): boolean => /ndjson|jsonl|json-?lines/i.test(contentType)
const isJsonType = (contentType: string): boolean => /json/i.test(contentType)

/**
 * JSON written out as text is read when something is filled in, so that each parameter stays one value and adds no
 * keys. What cannot be read would have to be filled in blindly, and is refused.
 */
export function compileBody(
  body: JsonValue,
  contentType: string | undefined,
  parameters: ReadonlySet<string>,
): Tree {
  const whole = compileTree(body, parameters)
  if (typeof body !== 'string' || whole.kind !== 'template' || !isJsonType(contentType ?? 'json'))
    return whole
  const isLines = isLinesType(contentType ?? '')
  const text = quoteParameters(body, parameters)
  const value = isLines ? parseLines(text) : parsePlain(text)
  if (value !== undefined) return compileTree(value, parameters)
  if (!holdsParameter(whole.template) || (!isLines && !/^\s*[[{]/.test(text))) return whole
  throw new KiwiError(
    'INVALID_CONFIG',
    'Cannot use the body: it holds parameters and cannot be read as JSON',
    {
      hint: 'Write the body as an object in place of a text',
    },
  )
}

/** A parameter that stands outside of quotes is a value of its own: in quotes it is read as one. */
function quoteParameters(text: string, parameters: ReadonlySet<string>): string {
  // A string without an end is taken as one, or each of its quotes would be tried as a beginning.
  const token = /"(?:[^"\\]|\\[^])*"?|(?<!\$)\{([A-Za-z_][A-Za-z0-9_-]*)\}/g
  return text.replaceAll(token, (whole: string, name: string | undefined) =>
    name !== undefined && parameters.has(name) ? `"${whole}"` : whole,
  )
}

function parseLines(text: string): JsonValue | undefined {
  const values = text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map(parsePlain)
  return values.every((value) => value !== undefined) ? values : undefined
}

/** The bytes to send, in the form that the content type asks for; null when there are none. */
export function renderBody(tree: Tree, values: Values, contentType = 'application/json'): string | null {
  const isForm = contentType.toLowerCase().startsWith(FORM)
  if (isForm && tree.kind === 'template' && tree.template.segments.length > 1)
    return renderForm(tree.template, values)
  const body = renderTree(tree, values)
  if (body === null) return null
  if (isForm && isObject(body)) {
    const fields = Object.entries(body).map(([key, value]): [string, string] => [key, textOf(value)])
    return new URLSearchParams(fields).toString()
  }
  if (typeof body !== 'string') return isLinesType(contentType) ? asLines(body) : JSON.stringify(body)
  // A text of the manifest that is JSON is sent as it is; one that a caller gave is a text, whatever it looks like.
  const isOurs = tree.kind !== 'template' || !holdsParameter(tree.template)
  const isSentAsIs = isOurs && (isLinesType(contentType) || isJson(body))
  return isSentAsIs || !isJsonType(contentType) ? body : JSON.stringify(body)
}

function asLines(body: JsonValue): string {
  const lines: readonly JsonValue[] = Array.isArray(body) ? body : [body]
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('')
}

/** The text between is the author's, names and all; what is filled in is a value. */
function renderForm({ segments }: Template, values: Values): string {
  return segments
    .map((segment) => {
      const text = renderSegment(segment, values)
      return segment.kind === 'text' ? text : new URLSearchParams({ '': text }).toString().slice(1)
    })
    .join('')
}

function holdsParameter({ segments }: Template): boolean {
  return segments.some(({ kind }) => kind === 'parameter')
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
