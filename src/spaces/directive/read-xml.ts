import type { KiwiError } from '../../shared/errors.ts'
import { messageOf } from '../../shared/errors.ts'
import { isUnsafeKey } from '../../shared/json.ts'
import { LIMITS } from '../../shared/limits.ts'
import type { Element } from './element.ts'
import { blank, holdText } from './held-text.ts'
import { BareSigns, parseFault } from './parse-fault.ts'
import type { Position } from './position.ts'
import { positionsIn } from './position.ts'
import { proposeRepair, repairedLines } from './repair.ts'
import { HINT, xmlFault } from './xml-fault.ts'

interface ReadXml {
  readonly root: Element
  /** Where it ends in the text. */
  readonly end: number
}

interface Open extends Omit<Element, 'text' | 'inner'> {
  readonly children: Element[]
  /** Where its content begins. */
  content: number
  text: string
}

/** Reads the element at an offset strictly: no document type, no entity of its own, no attribute twice, nothing repaired. */
export async function readXml(text: string, where: string, from = 0): Promise<ReadXml> {
  const { SaxesParser } = await import('saxes')
  const parser = new SaxesParser<{ position: true; xmlns: false }>({ position: true, xmlns: false })
  const positionOf = positionsIn(text)
  const { masked, held } = holdText(text, from)
  const stack: Open[] = []
  const found: ReadXml[] = []
  const explained = (said: string, failed: number, place?: Position): KiwiError => {
    const fault = xmlFault({ said, text, masked, from, failed, open: stack.at(-1) ?? null })
    const at = place ?? (typeof fault.place === 'number' ? positionOf(fault.place) : fault.place)
    const { repaired = null } = fault
    const hint =
      repaired === null ? fault.hint : `Write line ${at.line} as: ${fault.hint} (kiwi check --fix does that)`
    return parseFault(where, fault.reason, at, { hint, repaired })
  }
  const refuse = (reason: string, place?: Position): void => {
    // What stands below its end is none of it.
    if (found.length > 0) return
    const failed = Math.max(parser.position - 1, from)
    const typed = typeBefore(masked, from, failed)
    if (typed !== null) throw explained(TYPED, typed)
    const repair = proposeRepair({ text, masked, from, failed })
    if (repair === null) throw explained(reason, failed, place)
    const position = positionOf(repair.offset)
    const [entity] = /^&\w+;/.exec(text.slice(repair.offset, repair.offset + 64)) ?? []
    const sign = text[repair.offset] ?? ''
    const said = entity === undefined ? `a bare "${sign}" is not text` : `the entity "${entity}" is not known`
    throw parseFault(where, said, position, {
      hint: `Write line ${position.line} as: ${repair.line.trim()} (kiwi check --fix does that)`,
      repaired: repair.line,
      cause: new BareSigns(() => repairedLines({ text, masked, from })),
    })
  }
  parser.on('error', (error) => refuse(messageOf(error).replaceAll(/^\d+:\d+: |\.$/g, '')))
  parser.on('doctype', () => refuse(TYPED))
  parser.on('opentagstart', ({ name }) => {
    if (found.length > 0) return
    const place = positionOf(masked.lastIndexOf('<', parser.position - 1))
    if (stack.length >= LIMITS.nesting) refuse(`it is nested deeper than ${LIMITS.nesting} levels`, place)
    if (isUnsafeKey(name)) refuse(`"${name}" is not allowed as a name`, place)
    stack.push({ name, attributes: {}, children: [], content: 0, text: '', ...place })
  })
  parser.on('opentag', ({ attributes }) => {
    for (const opened of stack.splice(-1)) {
      const unsafe = Object.keys(attributes).find(isUnsafeKey)
      if (unsafe !== undefined) refuse(`"${unsafe}" is not allowed as a name`)
      const content = parser.position
      stack.push({ ...opened, attributes: { ...attributes }, content, text: held.get(content) ?? '' })
    }
  })
  const add = (more: string): void => {
    for (const last of stack.slice(-1)) last.text += more
  }
  parser.on('text', add)
  parser.on('cdata', add)
  parser.on('closetag', ({ isSelfClosing }) => {
    for (const { content, ...closed } of stack.slice(-1)) {
      const end = masked.lastIndexOf('<', parser.position - 1)
      const name = isSelfClosing ? closed.name : nameAt(masked, end)
      if (name !== closed.name && stack.every((one) => one.name !== name)) refuse('unexpected close tag')
      if (name !== closed.name) refuse(`<${closed.name}> is never closed`, closed)
      stack.pop()
      const inner = isSelfClosing ? '' : text.slice(content, end)
      const element = { ...closed, text: closed.text.trim(), inner }
      const around = stack.at(-1)
      if (around !== undefined) around.children.push(element)
      else if (found.length === 0) found.push({ root: element, end: parser.position })
    }
  })
  parser.write(blank(masked.slice(0, from)) + masked.slice(from))
  if (found.length === 0) parser.close()
  const [whole] = found
  if (whole === undefined) throw parseFault(where, 'there is no element', positionOf(from), { hint: HINT })
  return whole
}

const TYPED = 'it has a document type'

/** Where a document type begins that reading came upon, outside of comments and quotations: to mend its entities would not help. */
function typeBefore(masked: string, from: number, failed: number): number | null {
  const parts = /<!--[^]*?(?:-->|$)|<!\[CDATA\[[^]*?(?:\]\]>|$)|<!doctype/gi
  const found = [...masked.slice(from, failed + 1).matchAll(parts)].find(([part]) => /^<!d/i.test(part))
  return found === undefined ? null : from + found.index
}

/** Of the closing tag that begins here. */
function nameAt(text: string, at: number): string {
  const tag = /<\/([^\s<>]*)/y
  tag.lastIndex = at
  return tag.exec(text)?.[1] ?? ''
}
