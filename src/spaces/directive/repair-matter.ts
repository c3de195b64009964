import { KiwiError } from '../../shared/errors.ts'
import { readFrontMatter } from '../front-matter.ts'
import { positionIn } from '../parse-document.ts'
import type { Position } from './position.ts'

interface MatterRepair {
  readonly place: Position
  /** The whole line as it should be written. */
  readonly line: string
}

/**
 * What would make YAML in front of a text readable up to a later line: a text in quotes, blanks for a tab, or a line that
 * stands as far in as the one above it; null for none of them.
 */
export async function proposeMatter(
  text: string,
  where: string,
  fault: Position,
): Promise<MatterRepair | null> {
  const lines = text.split('\n')
  // What is never closed is missed on the line below.
  for (const at of [fault.line - 1, Math.max(0, fault.line - 2)])
    for (const { line, column } of repairsOf((lines[at] ?? '').replace(/\r$/, ''))) {
      const found = await lineOfFault(lines.with(at, line).join('\n'), where)
      if (found > fault.line) return { place: { line: at + 1, column }, line }
    }
  const line = movedOut(lines[fault.line - 1] ?? '', lines[fault.line] ?? '')
  if (line === null || (await lineOfFault(lines.with(fault.line, line).join('\n'), where)) <= fault.line)
    return null
  return { place: { line: fault.line + 1, column: 1 }, line }
}

/** A key below one that has a value already stands beside it, not in it. */
function movedOut(above: string, line: string): string | null {
  const outer = /^(\s*)[\w-]+: +\S/.exec(above)?.[1]
  const [, inner = '', entry] = /^(\s*)([\w-]+:(?: .*)?)$/.exec(line.replace(/\r$/, '')) ?? []
  if (outer === undefined || entry === undefined) return null
  return inner.length > outer.length ? outer + entry : null
}

async function lineOfFault(text: string, where: string): Promise<number> {
  try {
    await readFrontMatter(text, where)
    return Infinity
  } catch (error) {
    if (error instanceof KiwiError) return positionIn(error).line
    throw error
  }
}

interface RepairedLine {
  readonly line: string
  /** Where the line as it is goes wrong. */
  readonly column: number
}

/** The line as it may be meant, the least changed first. */
function repairsOf(line: string): readonly RepairedLine[] {
  const [indent = ''] = /^\s*/.exec(line) ?? []
  const tab = indent.indexOf('\t')
  const plain = `${indent.replaceAll('\t', '  ')}${line.slice(indent.length)}`
  const tabless = tab < 0 ? [] : [{ line: plain, column: tab + 1 }]
  const [, key, value] = /^(\s*(?:- +)*(?:[\w-]+: +)?)(\S.*?)\s*$/.exec(plain) ?? []
  if (key === undefined || value === undefined || key.trim() === '') return tabless
  if (isStructure(value) || isPlain(value)) return tabless
  return [...tabless, { line: `${key}${JSON.stringify(value)}`, column: tab < 0 ? key.length + 1 : tab + 1 }]
}

/** Words that mean the same in quotes: it is not they that are wrong. */
function isPlain(value: string): boolean {
  return /^[\w./ -]+$/.test(value) && !value.startsWith('-')
}

/** In quotes already, a text over several lines, an anchor or alias, or a list or mapping, even one that is not closed. */
function isStructure(value: string): boolean {
  if (/^["'|>#]/.test(value)) return true
  // Meant to stand for another value, which nobody can be told.
  if (/^&\S|^\*[\w-]+$/.test(value)) return true
  // A placeholder or a mark with text behind it is text.
  return /^[[{]/.test(value) && !/^(?:\{\w+\}|\[[^\]]*\])\s*[^\s,#]/.test(value)
}
