import { messageOf } from '../../shared/errors.ts'
import { isUnsafeKey } from '../../shared/json.ts'
import { LIMITS } from '../../shared/limits.ts'
import type { Element, Piece } from './element.ts'
import { blank, holdText } from './held-text.ts'
import { parseFault } from './parse-fault.ts'
import type { Position } from './position.ts'
import { positionsIn } from './position.ts'
import { refusal, TYPED } from './refusal.ts'
import { HINT } from './xml-fault.ts'

interface ReadXml {
  readonly root: Element
  /** Where it ends in the text. */
  readonly end: number
}

interface Open extends Omit<Element, 'text' | 'inner'> {
  readonly children: Element[]
  readonly content: Piece[]
  /** Where its tag begins, and where what it holds does. */
  readonly begins: number
  readonly holds: number
  /** Where the element ended that was read last in it, and its text since. */
  past: number
  said: string
}

/** Reads the element at an offset strictly: no document type, no entity of its own, no attribute twice, nothing repaired. */
export async function readXml(text: string, where: string, from = 0): Promise<ReadXml> {
  const { SaxesParser } = await import('saxes')
  const parser = new SaxesParser<{ position: true; xmlns: false }>({ position: true, xmlns: false })
  const positionOf = positionsIn(text)
  const { masked, held } = holdText(text, from)
  const stack: Open[] = []
  const found: ReadXml[] = []
  const refuse = (said: string, place?: Position): void => {
    // What stands below its end is none of it.
    if (found.length > 0) return
    const failed = Math.max(parser.position - 1, from)
    throw refusal({ said, text, masked, from, failed, open: stack.at(-1) ?? null }, { where, place })
  }
  parser.on('error', (error) => refuse(messageOf(error).replaceAll(/^\d+:\d+: |\.$/g, '')))
  parser.on('doctype', () => refuse(TYPED))
  parser.on('opentagstart', ({ name }) => {
    if (found.length > 0) return
    const begins = masked.lastIndexOf('<', parser.position - 1)
    const place = positionOf(begins)
    if (stack.length >= LIMITS.nesting) refuse(`it is nested deeper than ${LIMITS.nesting} levels`, place)
    if (isUnsafeKey(name)) refuse(`"${name}" is not allowed as a name`, place)
    for (const around of stack.slice(-1)) endText(around, text, begins)
    const empty = { attributes: {}, children: [], content: [], said: '' }
    stack.push({ ...empty, name, begins, holds: begins, past: begins, ...place })
  })
  parser.on('opentag', ({ attributes }) => {
    for (const opened of stack.splice(-1)) {
      const unsafe = Object.keys(attributes).find(isUnsafeKey)
      if (unsafe !== undefined) refuse(`"${unsafe}" is not allowed as a name`)
      const holds = parser.position
      const said = held.get(holds) ?? ''
      stack.push({ ...opened, attributes: { ...attributes }, holds, past: holds, said })
    }
  })
  const add = (more: string): void => {
    for (const last of stack.slice(-1)) last.said += more
  }
  parser.on('comment', () => {
    for (const around of stack.slice(-1)) {
      endText(around, text, masked.lastIndexOf('<!--', parser.position))
      // It is told of before its last sign.
      around.past = masked.indexOf('>', parser.position) + 1
    }
  })
  parser.on('text', add)
  parser.on('cdata', add)
  parser.on('closetag', ({ isSelfClosing }) => {
    for (const closed of stack.slice(-1)) {
      const end = masked.lastIndexOf('<', parser.position - 1)
      const name = isSelfClosing ? closed.name : nameAt(masked, end)
      if (name !== closed.name && stack.every((one) => one.name !== name)) refuse('unexpected close tag')
      if (name !== closed.name) refuse(`<${closed.name}> is never closed`, closed)
      stack.pop()
      endText(closed, text, end)
      const element = elementOf(closed, text.slice(closed.holds, Math.max(closed.holds, end)))
      const around = stack.at(-1)
      if (around !== undefined) {
        around.children.push(element)
        around.past = parser.position
        around.content.push({ part: element, written: text.slice(closed.begins, around.past) })
      } else if (found.length === 0) found.push({ root: element, end: parser.position })
    }
  })
  parser.write(blank(masked.slice(0, from)) + masked.slice(from))
  if (found.length === 0) parser.close()
  const [whole] = found
  if (whole === undefined) throw parseFault(where, 'there is no element', positionOf(from), { hint: HINT })
  return whole
}

/** What was said up to here is one part of what an element holds. */
function endText(open: Open, text: string, end: number): void {
  if (end > open.past) open.content.push({ part: open.said, written: text.slice(open.past, end) })
  open.said = ''
}

function elementOf({ name, attributes, children, content, line, column }: Open, inner: string): Element {
  const said = content.map(({ part }) => (typeof part === 'string' ? part : ''))
  return { name, attributes, children, text: said.join('').trim(), inner, content, line, column }
}

/** Of the closing tag that begins here. */
function nameAt(text: string, at: number): string {
  const tag = /<\/([^\s<>]*)/y
  tag.lastIndex = at
  return tag.exec(text)?.[1] ?? ''
}
