import { isMetaTool } from '../../shared/groups.ts'
import type { JsonObject, JsonValue } from '../../shared/json.ts'
import { isJsonObject, isUnsafeKey } from '../../shared/json.ts'
import type { Element } from './element.ts'
import { childrenOf } from './element.ts'
import type { ToolCall } from './model.ts'
import type { Note } from './note.ts'
import { noteText } from './note.ts'
import { dataOf } from './values.ts'
import { writtenText } from './written-text.ts'

/** Elements that are calls, whatever notation they are written in. */
const CALLS: ReadonlySet<string> = new Set(['call', 'tool_call'])
/** The four tools, and an action of one of them, by their own names. */
const META: ReadonlySet<string> = new Set(['execute', 'search', 'load', 'sign', 'help'])

export function isCall({ name }: Element): boolean {
  return CALLS.has(name) || META.has(name) || name === 'tool_calls'
}

/** All calls of a step, in their order. */
export function callsIn(element: Element, note: Note): readonly ToolCall[] {
  return element.children.flatMap((child): readonly ToolCall[] => {
    if (CALLS.has(child.name)) return callOf(child, note)
    if (META.has(child.name)) return [metaCall(child, note)]
    if (child.name === 'tool_calls') noteText(child, note, 'put it beside <tool_calls>')
    return child.name === 'description' ? [] : callsIn(child, note)
  })
}

function callOf(element: Element, note: Note): readonly ToolCall[] {
  const said = (name: string): string => element.attributes[name] ?? childrenOf(element, name)[0]?.text ?? ''
  const tool = said('tool') || said('name')
  if (tool === '') {
    note(element, `<${element.name}> names no tool: it is no call`)
    return []
  }
  for (const key of Object.keys(element.attributes).filter((name) => !OF_CALLS.includes(name)))
    note(element, `<${element.name}> has no attribute "${key}": a parameter is <param name="${key}">`)
  noteText(element, note, BESIDE)
  const own = element.children.filter(({ name }) => !OF_CALLS.includes(name))
  return [normal({ tool: toolId(said('mcp'), tool), parameters: parametersIn(own, note) })]
}

const OF_CALLS = ['mcp', 'tool', 'name']
const BESIDE = 'put it beside the call, or make it a parameter: <param name="...">'

/** `server.tool`; a tool of Kiwi itself by its name alone. */
function toolId(server: string, tool: string): string {
  const id = server === '' ? tool : `${server}.${tool}`
  return id.replace(/^kiwi(?:-mcp)?\.(?=(?:search|load|execute|help|sign)$)/, '')
}

/** `<param name="p">v</param>` or `<p>v</p>`, by themselves or in `<params>`. */
function parametersIn(children: readonly Element[], note: Note): JsonObject {
  for (const child of children.filter(({ name }) => WRAPPERS.has(name))) noteText(child, note, BESIDE)
  const wrapped = children.flatMap((child) => (WRAPPERS.has(child.name) ? child.children : [child]))
  return valuesIn(wrapped, note)
}

/** Each by its name. One without a name is no parameter, and of two the last counts; both are said. */
function valuesIn(elements: readonly Element[], note: Note): JsonObject {
  const values = new Map<string, JsonValue>()
  for (const element of elements) {
    const [name, value] = valueIn(element, note)
    if (name === '' || isUnsafeKey(name)) {
      note(element, `<${element.name}> names no parameter: it is left out`)
      continue
    }
    if (values.has(name)) note(element, `the parameter "${name}" is given twice: this one counts`)
    values.set(name, value)
  }
  return Object.fromEntries(values)
}

const WRAPPERS: ReadonlySet<string> = new Set(['params', 'parameters'])

function valueIn(element: Element, note: Note): readonly [string, JsonValue] {
  const { name, attributes, children, text } = element
  if (name !== 'param' && name !== 'parameter') return [name, dataOf(element)]
  const { name: called = '', value } = attributes
  // Elements alone are the parts of a value; between words they are text.
  if (children.length > 0 && text === '') return [called, valuesIn(children, note)]
  if (value !== undefined) noteText(element, note, `its value is "${value}"`)
  return [called, value ?? writtenText(element)]
}

/** `<search item_type="tool" query="x"/>`, `<execute item_type="tool" item_id="x"><p>v</p></execute>`. */
function metaCall(element: Element, note: Note): ToolCall {
  const { name, attributes, children } = element
  noteText(element, note, BESIDE)
  const given = parametersIn(children, note)
  if (name === 'search' || name === 'load' || name === 'help')
    return normal({ tool: name, parameters: { ...attributes, ...given } })
  const parameters = Object.keys(given).length === 0 ? {} : { parameters: given }
  return normal({ tool: name, parameters: { ...attributes, ...parameters } })
}

/** To execute a tool is to call it; what else is executed stays a call of `execute`, with the action in it. */
function normal({ tool, parameters }: ToolCall): ToolCall {
  if (tool === 'load') return { tool, parameters: { item_type: 'tool', ...parameters } }
  if (tool === 'sign') return normal({ tool: 'execute', parameters: { ...parameters, action: tool } })
  if (tool !== 'execute') return { tool, parameters }
  const {
    item_type: type = 'tool',
    action = 'run',
    item_id: id,
    parameters: inner = {},
    ...more
  } = parameters
  const isPlain = typeof id === 'string' && id !== '' && !isMetaTool(id) && Object.keys(more).length === 0
  if (type === 'tool' && action === 'run' && isPlain && isJsonObject(inner))
    return { tool: id, parameters: inner }
  return { tool, parameters: { ...parameters, item_type: type, action } }
}

/** A call written as data. */
export function callOfData(given: JsonValue, say: (text: string) => void): ToolCall | null {
  if (!isJsonObject(given)) return null
  const { tool, mcp = '', parameters, params, ...others } = given
  for (const key of Object.keys(others))
    say(`a call has no key "${key}": without effect: it has "tool", "mcp" and "parameters"`)
  const values = parameters ?? params ?? {}
  if (typeof tool !== 'string' || tool === '' || typeof mcp !== 'string' || !isJsonObject(values)) return null
  return normal({ tool: toolId(mcp, tool), parameters: values })
}
