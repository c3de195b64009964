import type { Fits } from '../../shared/name-glob.ts'
import { fits, fitsSegment } from '../../shared/name-glob.ts'

/** A path of segments: `*` stays within one, `**` stands for any number of them, none included. */
export function compilePathGlob(pattern: string): Fits {
  const wanted = segmentsOf(pattern)
  const isPlain = !/[*?]/.test(pattern)
  const plain = wanted.join('/')
  return (path) => {
    const given = segmentsOf(path)
    return isPlain ? given.join('/') === plain : fitsSegments(wanted, given)
  }
}

function segmentsOf(path: string): readonly string[] {
  return path.split('/').filter((segment) => segment !== '')
}

/** What is wrong with a glob, or null. What other tools would read as a pattern is not taken for a name. */
export function globFault(pattern: string): string | null {
  if (pattern === '') return 'is empty'
  if (pattern.startsWith('!')) return 'begins with "!", which means nothing here: write a rule that denies'
  if (/[{}[\]()]/.test(pattern))
    return 'holds brackets, which are no pattern here: list each form, or write *'
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  if (/[\u0000-\u001f\u007f\\]/.test(pattern)) return 'holds a backslash or a control character'
  const segments = segmentsOf(pattern)
  if (segments.some((segment) => segment === '..' || segment === '.'))
    return 'holds "." or "..", so it can never match'
  if (segments.some((segment) => segment !== '**' && segment.includes('**')))
    return 'holds "**" beside other characters'
  return null
}

/** The same for names of items and servers, which have letters, digits, `_`, `-` and `.` only; `/` is between categories. */
export function nameFault(pattern: string): string | null {
  const other = /[^\w.*?/-]/u.exec(pattern)?.[0]
  return (
    globFault(pattern) ??
    (other === undefined ? null : `holds "${other}", which no name has, so it can never match`)
  )
}

/** The same for hosts. What is asked for at the usual port is named without one. */
export function hostFault(pattern: string): string | null {
  if (/[/\s]/.test(pattern)) return 'is no host: leave scheme and path out'
  const port = /:(\d+)$/.exec(pattern)?.[1]
  if (port === '443' || port === '80')
    return `names the usual port, so it can never match: leave ":${port}" out`
  if (port !== undefined && (Number(port) < 1 || Number(port) > 65_535))
    return `names "${port}", which is no port`
  return globFault(pattern)
}

function fitsSegments(pattern: readonly string[], path: readonly string[]): boolean {
  return fits(pattern.length, path.length, {
    isStar: (at) => pattern[at] === '**',
    fitsAt: (at, index) => fitsSegment(String(pattern[at]), String(path[index])),
  })
}
