import type { JsonObject, JsonValue } from '../../shared/json.ts'
import { isJsonObject } from '../../shared/json.ts'
import { textOf } from '../../shared/template.ts'
import { callOfData, callsIn, isCall } from './calls.ts'
import type { Element } from './element.ts'
import { childrenOf, shown } from './element.ts'
import type { Step } from './model.ts'
import type { Note } from './note.ts'
import { isWords, meant } from './note.ts'
import type { Position } from './position.ts'
import { groupsIn, textOfGroup, textsBeside } from './written-text.ts'

/** A step, and where it stands. */
export interface PlacedStep {
  readonly step: Step
  readonly place: Position
}

/** The steps of `<process>`. What else stands in it is for whoever follows it, too: a step in its place. */
export function readSteps(processes: readonly Element[], note: Note): readonly PlacedStep[] {
  return processes.flatMap((process) => {
    const isInSteps = childrenOf(process, 'step').length > 0
    return groupsIn(process, ({ name }) => name === 'step').map(({ apart, pieces }) => {
      if (apart !== null) return { step: stepOf(apart, note), place: apart }
      const children = pieces.flatMap(({ part }) => (typeof part === 'string' ? [] : [part]))
      // Between words it is markup.
      const isSaid = isInSteps && !pieces.some(({ part }) => typeof part === 'string' && isWords(part))
      for (const child of children) noteStranger(child, isSaid, note)
      const attributes = isInSteps ? {} : process.attributes
      const rest: Element = { ...process, attributes, children, content: pieces }
      return { step: stepOf(rest, note), place: process }
    })
  })
}

function noteStranger(child: Element, isSaid: boolean, note: Note): void {
  const probably = meant(child.name, ['step'], (name) => `<${name}>`)
  if (isSaid || probably !== '')
    note(child, `${shown(child)} is no <step>${isSaid ? ': read as one' : ''}${probably}`)
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
  // What nobody here knows was written for whoever follows the step.
  for (const child of children.filter((one) => !isPart(one))) noteMisspelt(child, note)
  const action = groupsIn(element, isPart).flatMap((group) => {
    if (group.apart === null) return [textOfGroup(group)]
    return group.apart.name === 'action' ? textsBeside(group.apart, isCall) : []
  })
  const description = childrenOf(element, 'description').flatMap((child) => textsBeside(child, () => false))
  return {
    name,
    condition,
    description: description.length === 0 ? null : description.join('\n'),
    action: action.length === 0 ? null : unquoted(action.join('\n')),
    calls: callsIn(element, note),
  }
}

function isPart(child: Element): boolean {
  return child.name === 'description' || child.name === 'action' || isCall(child)
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
