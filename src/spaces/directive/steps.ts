import type { JsonObject, JsonValue } from '../../shared/json.ts'
import { isJsonObject } from '../../shared/json.ts'
import { textOf } from '../../shared/template.ts'
import { callOfData, callsIn, isCall } from './calls.ts'
import { xmlText } from './dialect.ts'
import type { Element } from './element.ts'
import { childrenOf, shown } from './element.ts'
import type { Step } from './model.ts'
import type { Note } from './note.ts'
import { meant } from './note.ts'
import type { Position } from './position.ts'
import { dedented } from './values.ts'

/** A step, and where it stands. */
export interface PlacedStep {
  readonly step: Step
  readonly place: Position
}

/** The steps of `<process>`; one that is plain text is one step. */
export function readSteps(processes: readonly Element[], note: Note): readonly PlacedStep[] {
  return processes.flatMap((process) => {
    const steps = childrenOf(process, 'step').map((element) => ({
      step: stepOf(element, note),
      place: element,
    }))
    noteStrangers(process, steps.length > 0, note)
    return steps.length > 0 || process.inner.trim() === ''
      ? steps
      : [{ step: stepOf(process, note), place: process }]
  })
}

/** Beside steps nothing else counts; without any, all of it is text for whoever follows it. */
function noteStrangers({ children }: Element, isInSteps: boolean, note: Note): void {
  for (const child of children.filter(({ name }) => name !== 'step')) {
    const probably = meant(child.name, ['step'], (name) => `<${name}>`)
    if (isInSteps || probably !== '')
      note(child, `${shown(child)} is no <step>${isInSteps ? ': left out' : ''}${probably}`)
  }
}

/** Two steps of one name are two steps, but whoever speaks of one cannot say which. */
export function noteTwins(steps: readonly PlacedStep[], note: Note): void {
  const lines = new Map<string, number>()
  for (const { step, place } of steps) {
    if (step.name === null) continue
    const first = lines.get(step.name)
    if (first === undefined) lines.set(step.name, place.line)
    else note(place, `the step "${step.name}" is there twice, first in line ${first}`)
  }
}

function stepOf(element: Element, note: Note): Step {
  const { attributes, children } = element
  const { name = null, condition = null, ...others } = attributes
  if (element.name === 'step')
    for (const key of Object.keys(others))
      note(
        element,
        `<step> has no attribute "${key}": without effect${meant(key, ['name', 'condition'], quoted)}`,
      )
  const actions = childrenOf(element, 'action')
  // What nobody here knows was written for whoever follows the step.
  const further = children.filter(
    (child) => !['description', 'action'].includes(child.name) && !isCall(child),
  )
  for (const child of further) noteMisspelt(child, note)
  const parts = [
    ...(element.text === '' ? [] : [dedented(element.text)]),
    ...actions.map(textWithin),
    ...further.map(asWritten),
  ].filter((part) => part !== '')
  const description = dedented(childrenOf(element, 'description')[0]?.text ?? '')
  return {
    name,
    condition,
    description: description === '' ? null : description,
    action: parts.length === 0 ? null : unquoted(parts.join('\n')),
    calls: callsIn(element, note),
  }
}

/** What is nearly the name of a part of a step was hardly written as text. */
function noteMisspelt(child: Element, note: Note): void {
  const probably = meant(child.name, PARTS, (name) => `<${name}>`)
  if (probably !== '') note(child, `${shown(child)} is read as text${probably}`)
}

const PARTS = [
  'description',
  'action',
  'tool_call',
  'tool_calls',
  'call',
  'execute',
  'search',
  'load',
  'sign',
]

function quoted(name: string): string {
  return `"${name}"`
}

/** An element with all that its author wrote. */
function asWritten({ name, attributes, inner }: Element): string {
  const given = Object.entries(attributes).map(([key, value]) => ` ${key}="${xmlText(value)}"`)
  const tag = `<${name}${given.join('')}`
  return inner === '' && given.length > 0 ? `${tag}/>` : `${tag}>${dedented(inner)}</${name}>`
}

/** Its text; as it is written where it holds more than text and calls. */
function textWithin(element: Element): string {
  return dedented(element.children.every(isCall) ? element.text : element.inner)
}

/** Marks that could not stand in a quotation themselves. */
function unquoted(text: string): string {
  return text.replaceAll('{CDATA_OPEN}', '<![CDATA[').replaceAll('{CDATA_CLOSE}', ']]>')
}

/** A step that is data: a text, or its parts by name. */
export function stepOfData(given: JsonValue, place: Position, note: Note): Step {
  if (!isJsonObject(given)) return { ...NOTHING, action: textOf(given) }
  const { name, condition, description, action, calls = [], ...others } = given
  for (const key of Object.keys(others))
    note(place, `a step has no key "${key}": without effect${meant(key, STEP_KEYS, quoted)}`)
  const listed: readonly JsonValue[] = Array.isArray(calls) ? calls : [calls]
  return {
    name: textIn(name),
    condition: textIn(condition),
    description: textIn(description),
    action: textIn(action),
    calls: listed.flatMap((call) => {
      const read = callOfData(call, (text) => note(place, text))
      if (read === null) note(place, 'a call names no tool: it is no call')
      return read === null ? [] : [read]
    }),
  }
}

const STEP_KEYS = ['name', 'condition', 'description', 'action', 'calls']
const NOTHING: Step = { name: null, condition: null, description: null, action: null, calls: [] }

function textIn(given: JsonObject[string] | undefined): string | null {
  return given === undefined || given === null ? null : textOf(given)
}
