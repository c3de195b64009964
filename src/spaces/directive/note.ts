import { nearest } from '../../shared/nearest.ts'
import type { Element } from './element.ts'
import type { Finding } from './model.ts'
import type { Position } from './position.ts'

/** Says that something of a directive means nothing, or not what it seems to; of a placeholder, by its name. */
export type Note = (place: Position, message: string, unfilled?: string) => void

interface Notes {
  readonly note: Note
  readonly findings: Finding[]
}

export function openNotes(): Notes {
  const findings: Finding[] = []
  return {
    findings,
    note: ({ line, column }, message, unfilled) =>
      void findings.push({ line, column, message, ...(unfilled === undefined ? {} : { unfilled }) }),
  }
}

/** Says that a text stands where none is read, and where it would be. */
export function noteText(element: Element, note: Note, where: string): void {
  if (!isWords(element.text)) return
  const start = element.text.replaceAll(/\s+/g, ' ').slice(0, 40)
  note(element, `the text "${start}" in <${element.name}> is left out: ${where}`)
}

/** Dots alone only say that there is more. */
export function isWords(text: string): boolean {
  return /[\p{L}\p{N}]/u.test(text)
}

/** What was probably meant, at the end of what is said. */
export function meant(word: string, known: Iterable<string>, shown = (name: string): string => name): string {
  const [best] = nearest(word, [...known])
  return best === undefined ? '' : `: ${shown(best)} is probably meant`
}
