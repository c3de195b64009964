import { KiwiError } from '../shared/errors.ts'

const BEGIN = '<!-- kiwi:begin -->'
const END = '<!-- kiwi:end -->'

/** A text with our section in it: between its marks when it is there, else at the end. The rest stays byte for byte. */
export function setSection(text: string, section: string, where: string): string {
  const [line] = /\r?\n/.exec(text) ?? ['\n']
  const marked = [BEGIN, ...section.trim().split(/\r?\n/), END].join(line)
  const begins = placesOf(text, BEGIN)
  const ends = placesOf(text, END)
  const [from] = begins
  const [to] = ends
  if (from === undefined && to === undefined) return text + gap(text, line) + marked + line
  if (begins.length > 1 || ends.length > 1 || from === undefined || to === undefined || to < from) {
    throw new KiwiError('CONFLICT', `Cannot change "${where}": the marks of Kiwi's section do not fit`, {
      hint: `Leave one "${BEGIN}" and one "${END}" behind it, or neither, and run the command again`,
      details: { path: where },
    })
  }
  return text.slice(0, from) + marked + text.slice(to + END.length)
}

function placesOf(text: string, mark: string): readonly number[] {
  return Array.from(text.matchAll(new RegExp(mark, 'g')), ({ index }) => index)
}

/** An empty line between what was there and what is added. */
function gap(text: string, line: string): string {
  if (text.replace(/^\uFEFF/, '') === '') return ''
  if (/\n\r?\n$/.test(text)) return ''
  return text.endsWith('\n') ? line : line + line
}
