import { KiwiError } from '../../shared/errors.ts'
import { readFrontMatter } from '../front-matter.ts'
import { positionIn } from '../parse-document.ts'
import type { Position } from './position.ts'

interface MatterRepair {
  readonly place: Position
  /** The whole line as it should be written. */
  readonly line: string
}

/** What would make YAML in front of a text readable up to a later line: a text in quotes, or blanks for a tab; null for neither. */
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
  return null
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
  if (key === undefined || value === undefined || key.trim() === '' || isStructure(value)) return tabless
  return [...tabless, { line: `${key}${JSON.stringify(value)}`, column: tab < 0 ? key.length + 1 : tab + 1 }]
}

/** In quotes already, a text over several lines, an anchor or alias, or a list or mapping, even one that is not closed. */
function isStructure(value: string): boolean {
  if (/^["'|>#]/.test(value)) return true
  // Meant to stand for another value, which nobody can be told.
  if (/^&\S|^\*[\w-]+$/.test(value)) return true
  // A placeholder or a mark with text behind it is text.
  return /^[[{]/.test(value) && !/^(?:\{\w+\}|\[[^\]]*\])\s*[^\s,#]/.test(value)
}
