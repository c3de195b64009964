import { KiwiError } from './errors.ts'
import type { JsonValue } from './json.ts'
import { isObject } from './json.ts'

/**
 * Templates are compiled once and filled in one pass: a value that is put in is never read again for
 * `{param}` or `${VAR}`, so what a caller sends can never name a secret.
 */
export interface Template {
  readonly source: string
  readonly segments: readonly Segment[]
}

export type Segment =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'parameter'; readonly name: string }
  | {
      readonly kind: 'variable'
      readonly name: string
      /** `${X}`, `${X:-operand}` when unset or empty, `${X:+operand}` when set and not empty. */
      readonly form: 'plain' | 'default' | 'alternate'
      readonly operand: string
    }

export interface Values {
  readonly parameter: (name: string) => JsonValue | undefined
  readonly variable: (segment: VariableSegment) => string
}

export type VariableSegment = Extract<Segment, { kind: 'variable' }>

const VARIABLE = /^([A-Za-z_][A-Za-z0-9_]*)(?::([-+])([^]*))?$/
const TOKEN = /\$\$\{|\$\{|\{([A-Za-z_][A-Za-z0-9_.-]*)\}/g

/** `{word}` is a parameter only when `parameters` has it; otherwise it is text. */
export function compileTemplate(source: string, parameters: ReadonlySet<string>): Template {
  const segments: Segment[] = []
  let from = 0
  let text = ''
  TOKEN.lastIndex = 0
  for (let token = TOKEN.exec(source); token !== null; token = TOKEN.exec(source)) {
    const [whole, parameter] = token
    if (parameter !== undefined && !parameters.has(parameter)) continue
    text += source.slice(from, token.index)
    from = token.index + whole.length
    if (whole === '$${') {
      text += '${'
      continue
    }
    if (text !== '') segments.push({ kind: 'text', text })
    text = ''
    if (parameter !== undefined) {
      segments.push({ kind: 'parameter', name: parameter })
      continue
    }
    const end = source.indexOf('}', from)
    segments.push(readVariable(source, end < 0 ? null : source.slice(from, end)))
    from = TOKEN.lastIndex = end + 1
  }
  text += source.slice(from)
  if (text !== '') segments.push({ kind: 'text', text })
  return { source, segments }
}

function readVariable(source: string, body: string | null): Segment {
  const [, name, sign, operand = ''] = VARIABLE.exec(body ?? '') ?? []
  if (name === undefined || operand.includes('{')) {
    throw new KiwiError('INVALID_CONFIG', `Cannot read template ${JSON.stringify(source.slice(0, 160))}`, {
      hint: 'Write ${NAME}, ${NAME:-default} or ${NAME:+alternate}, not nested; $${ stands for a plain ${',
    })
  }
  const form = sign === '-' ? 'default' : sign === '+' ? 'alternate' : 'plain'
  return { kind: 'variable', name, form, operand }
}

/** A parameter as text: scalars as they are, objects and lists as JSON, absent as nothing. */
export function textOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

export function renderText(template: Template, values: Values): string {
  let text = ''
  for (const segment of template.segments) text += renderSegment(segment, values)
  return text
}

export function renderSegment(segment: Segment, values: Values): string {
  if (segment.kind === 'text') return segment.text
  return segment.kind === 'parameter' ? textOf(values.parameter(segment.name)) : values.variable(segment)
}

/** A value whose strings may hold templates, compiled: what holds none is kept as it is. */
export type Tree =
  | { readonly kind: 'constant'; readonly value: JsonValue }
  | { readonly kind: 'template'; readonly template: Template }
  | { readonly kind: 'list'; readonly items: readonly Tree[] }
  | { readonly kind: 'object'; readonly entries: readonly (readonly [string, Tree])[] }

export function compileTree(value: JsonValue, parameters: ReadonlySet<string>): Tree {
  if (typeof value === 'string') {
    const template = compileTemplate(value, parameters)
    const [first, ...more] = template.segments
    if (first === undefined) return { kind: 'constant', value }
    return first.kind === 'text' && more.length === 0
      ? { kind: 'constant', value: first.text }
      : { kind: 'template', template }
  }
  if (Array.isArray(value)) {
    const items = value.map((item: JsonValue) => compileTree(item, parameters))
    return items.every(isConstant)
      ? { kind: 'constant', value: items.map((item) => item.value) }
      : { kind: 'list', items }
  }
  if (isObject(value)) {
    const entries = Object.entries(value).map(([key, item]) => [key, compileTree(item, parameters)] as const)
    return entries.every(([, item]) => isConstant(item))
      ? { kind: 'constant', value: Object.fromEntries(entries.map(([key, item]) => [key, constantOf(item)])) }
      : { kind: 'object', entries }
  }
  return { kind: 'constant', value }
}

type Constant = Extract<Tree, { kind: 'constant' }>
const isConstant = (tree: Tree): tree is Constant => tree.kind === 'constant'
const constantOf = (tree: Tree): JsonValue => (isConstant(tree) ? tree.value : null)

/** A string that is exactly `{param}` keeps the type of the parameter. */
export function renderTree(tree: Tree, values: Values): JsonValue {
  switch (tree.kind) {
    case 'constant':
      return tree.value
    case 'template': {
      const [only, ...more] = tree.template.segments
      if (only?.kind === 'parameter' && more.length === 0) return values.parameter(only.name) ?? null
      return renderText(tree.template, values)
    }
    case 'list':
      return tree.items.map((item) => renderTree(item, values))
    case 'object':
      return Object.fromEntries(tree.entries.map(([key, item]) => [key, renderTree(item, values)]))
  }
}
