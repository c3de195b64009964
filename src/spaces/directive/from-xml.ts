import type { JsonObject, JsonValue } from '../../shared/json.ts'
import { isJsonObject } from '../../shared/json.ts'
import type { Element } from './element.ts'
import { childrenOf, shown } from './element.ts'
import { readInputs } from './inputs.ts'
import { readLimits } from './limits.ts'
import type { Directive } from './model.ts'
import type { Note } from './note.ts'
import { isWords, meant, noteText, openNotes } from './note.ts'
import { parseFault } from './parse-fault.ts'
import { noteUnfilled } from './placeholders.ts'
import { relationOf } from './relations.ts'
import { noteTwins, readSteps } from './steps.ts'
import { dataOf } from './values.ts'
import { readWanted } from './wanted.ts'
import { writtenText } from './written-text.ts'

/** Sections by their name, in `<metadata>` or beside it. */
const READ =
  'metadata description category inputs process outputs permissions tools mcps relationships limits cost'
const KEPT =
  'author model model_class tags hooks context context_budget deviation_rules parallel_capable subagent_strategy'
const KNOWN: ReadonlySet<string> = new Set(`${READ} ${KEPT}`.split(' '))
/** Sections that only hold elements, and what to write in place of a text. */
const WITHOUT_TEXT: ReadonlyMap<string, string> = new Map([
  ['metadata', 'put it into <description> or <process>'],
  ['inputs', 'an input is <input name="...">'],
  ['tools', 'a tool is named as in <mcp name="...">'],
  ['mcps', 'a server is <mcp name="...">'],
  ['relationships', 'a relation is <requires directive="..."/>'],
  ['limits', 'a limit is <turns>20</turns>'],
  ['cost', 'a limit is <turns>20</turns>'],
])
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
  noteTexts(sections, note)
  const unknown = unknownOf(root, sections, note)
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
    description: lineOf(all('description')),
    category: lineOf(all('category').slice(0, 1)) || null,
    dialect: 'xml',
    extends: root.attributes['extends']?.trim() || null,
    inputs,
    steps: steps.map(({ step }) => step),
    body: isWords(root.text) ? `${root.text}\n\n${body}`.trim() : body,
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

function lineOf(elements: readonly Element[]): string {
  return elements.map(writtenText).join(' ').replaceAll(/\s+/g, ' ').trim()
}

function noteTexts(sections: readonly Element[], note: Note): void {
  for (const section of sections) {
    const instead = WITHOUT_TEXT.get(section.name)
    if (instead !== undefined) noteText(section, note, instead)
  }
}

/** What is not known of it, kept as data. */
function unknownOf(root: Element, sections: readonly Element[], note: Note): readonly JsonValue[] {
  const ofSections = sections
    .filter(({ name }) => !KNOWN.has(name))
    .map((section) => {
      const probably = meant(section.name, KNOWN, (name) => `<${name}>`)
      note(section, `${shown(section)} is not known: kept, without effect${probably}`)
      return { [section.name]: dataOf(section) }
    })
  const ofRoot = Object.entries(root.attributes)
    .filter(([key]) => !ATTRIBUTES.has(key))
    .map(([name, value]) => {
      note(root, `<directive> has no attribute "${name}": kept, without effect${meant(name, ATTRIBUTES)}`)
      return { [name]: value }
    })
  return [...ofSections, ...ofRoot]
}

function inputsIn(section: Element, note: Note): readonly Element[] {
  const inputs = childrenOf(section, 'input', 'param')
  for (const child of section.children)
    if (!inputs.includes(child)) note(child, `${shown(child)} is no <input>: left out`)
  return inputs
}

function inputData(element: Element): { given: JsonObject; place: Element } {
  const { attributes, children, text } = element
  const [first] = children
  const isDescribed = text === '' && children.length === 1 && first?.name === 'description'
  const description = writtenText(isDescribed ? first : element)
  return { given: { ...attributes, description }, place: element }
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
  const { name, children, text: own } = section
  const outputs = childrenOf(section, 'output', 'param')
  if (name === 'outputs' && outputs.length > 0 && outputs.length === children.length && own === '')
    return outputs.map((output) => ({ ...output.attributes, description: writtenText(output) }))
  const data = dataOf(section)
  if (name !== 'model' && name !== 'model_class') return data
  if (!isJsonObject(data)) return { tier: data }
  const { text, ...model } = data
  return text === undefined ? model : { ...model, reason: text }
}
