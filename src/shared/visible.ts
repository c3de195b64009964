import { UNSEEN } from './hidden.ts'

/** Whatever does not show, turns the direction of writing or ends a line. */
const HIDDEN = new RegExp(UNSEEN, 'gu')

/** A text of strangers as one line in which every character can be told: nothing in it can pass for a line of ours. */
export function visible(text: string): string {
  return visibleLine(JSON.stringify(text).slice(1, -1))
}

/** A value as JSON over several lines; the line breaks between its parts are the only ones. */
export function visibleJson(value: unknown): string {
  const text = JSON.stringify(value, null, 2) ?? 'null'
  return text.split('\n').map(visibleLine).join('\n')
}

/** A line of a file: what shows stays as it is there. */
export function visibleLine(line: string): string {
  return line.replaceAll(HIDDEN, (character) =>
    Array.from(character, (each) => `\\u{${(each.codePointAt(0) ?? 0).toString(16)}}`).join(''),
  )
}
