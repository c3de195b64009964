import type { JsonObject, JsonValue } from '../../shared/json.ts'
import { isJsonObject } from '../../shared/json.ts'
import type { Element } from './element.ts'
import { childrenOf, shown } from './element.ts'
import { readInputs } from './inputs.ts'
import { readLimits } from './limits.ts'
import type { Directive, Relation } from './model.ts'
import type { Note } from './note.ts'
import { meant, openNotes } from './note.ts'
import { parseFault } from './parse-fault.ts'
import { noteUnfilled } from './placeholders.ts'
import { noteTwins, readSteps } from './steps.ts'
import { dataOf } from './values.ts'
import { readWanted } from './wanted.ts'

/** Sections by their name, in `<metadata>` or beside it. */
const READ =
  'metadata description category inputs process outputs permissions tools mcps relationships limits cost'
const KEPT =
  'author model model_class tags hooks context context_budget deviation_rules parallel_capable subagent_strategy'
const KNOWN: ReadonlySet<string> = new Set(`${READ} ${KEPT}`.split(' '))
const ATTRIBUTES: ReadonlySet<string> = new Set(['name', 'version', 'extends'])

interface XmlOrigin {
  readonly where: string
  readonly stem: string
  /** Text below the directive. */
  readonly body: string
  /** A `<process>` that stands there instead. */
  readonly process: Element | null
}

/** The model of a directive in XML. */
export function fromXml(root: Element, { where, stem, body, process }: XmlOrigin): Directive {
  const { note, findings } = openNotes()
  const metadata = childrenOf(root, 'metadata')
  const sections = [...metadata.flatMap(({ children }) => children), ...root.children]
  const all = (...names: readonly string[]): readonly Element[] =>
    sections.filter(({ name }) => names.includes(name))
  const text = (name: string): string => (all(name)[0]?.text ?? '').replaceAll(/\s+/g, ' ').trim()
  const [permissions = null, second] = all('permissions')
  if (second !== undefined)
    throw parseFault(
      where,
      `there are several <permissions>, the first in line ${permissions?.line}`,
      second,
      {
        hint: 'Put all of them into one',
      },
    )
  const unknown: JsonValue[] = []
  for (const section of sections.filter(({ name }) => !KNOWN.has(name))) {
    const probably = meant(section.name, KNOWN, (name) => `<${name}>`)
    note(section, `${shown(section)} is not known: kept, without effect${probably}`)
    unknown.push({ [section.name]: dataOf(section) })
  }
  for (const [name, value] of Object.entries(root.attributes).filter(([key]) => !ATTRIBUTES.has(key))) {
    const probably = meant(name, ATTRIBUTES)
    note(root, `<directive> has no attribute "${name}": kept, without effect${probably}`)
    unknown.push({ [name]: value })
  }
  const processes = all('process')
  const steps = readSteps(processes.length === 0 && process !== null ? [process] : processes, note)
  noteTwins(steps, note)
  const inputs = readInputs(
    all('inputs')
      .flatMap((section) => inputsIn(section, note))
      .map(inputData),
    where,
    note,
  )
  noteUnfilled(steps, inputs, note)
  const { name = stem, version = '0.0.0' } = root.attributes
  return {
    name: name === '' ? stem : name,
    version,
    description: text('description'),
    category: text('category') === '' ? null : text('category'),
    dialect: 'xml',
    extends: root.attributes['extends']?.trim() || null,
    inputs,
    steps: steps.map(({ step }) => step),
    body,
    permissions,
    wanted: readWanted(all('tools', 'mcps'), where, note),
    relations: all('relationships').flatMap(({ children }) =>
      children.flatMap((child) => relationOf(child, note)),
    ),
    limits: readLimits(all('limits', 'cost')),
    more: { ...keptOf(sections), ...(unknown.length === 0 ? {} : { unknown }) },
    findings,
  }
}

function inputsIn(section: Element, note: Note): readonly Element[] {
  const inputs = childrenOf(section, 'input', 'param')
  for (const child of section.children)
    if (!inputs.includes(child)) note(child, `${shown(child)} is no <input>: left out`)
  return inputs
}

function inputData(element: Element): { given: JsonObject; place: Element } {
  const { attributes, text } = element
  const described = childrenOf(element, 'description')[0]?.text
  return { given: { ...attributes, description: described ?? text }, place: element }
}

const RELATIONS = ['requires', 'suggests', 'extends', 'related'] as const

function relationOf(element: Element, note: Note): readonly Relation[] {
  const { name, attributes, text } = element
  const kind = RELATIONS.find((known) => known === name)
  const directive = attributes['directive'] ?? text
  if (kind !== undefined && directive !== '') return [{ kind, directive }]
  const probably = kind === undefined ? meant(name, RELATIONS, (known) => `<${known}>`) : ''
  const why = kind === undefined ? 'is no relation' : 'names no directive'
  note(element, `${shown(element)} ${why}: left out${probably}`)
  return []
}

function keptOf(sections: readonly Element[]): JsonObject {
  const kept = new Set([...KEPT.split(' '), 'outputs'])
  const found = sections.filter(({ name }) => kept.has(name))
  return Object.fromEntries(
    found.map((section) => [section.name === 'model_class' ? 'model' : section.name, sectionData(section)]),
  )
}

/** Outputs as a list by name; of a model the text is the reason for it. */
function sectionData(section: Element): JsonValue {
  const { name, children } = section
  const outputs = childrenOf(section, 'output', 'param')
  if (name === 'outputs' && outputs.length > 0 && outputs.length === children.length)
    return outputs.map(({ attributes, text }) => ({ ...attributes, description: text }))
  const data = dataOf(section)
  if (name !== 'model' && name !== 'model_class') return data
  if (!isJsonObject(data)) return { tier: data }
  const { text, ...model } = data
  return text === undefined ? model : { ...model, reason: text }
}
