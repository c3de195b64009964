/** Whether a name or a path fits. */
export type Fits = (text: string) => boolean

/** `*` is any part of a name, `?` one character. */
export function compileNameGlob(pattern: string): Fits {
  if (!/[*?]/.test(pattern)) return (name) => name === pattern
  return pattern === '*' ? () => true : (name) => fitsSegment(pattern, name)
}

/** Goes back to the last star only: never longer than the one length times the other. */
export function fitsSegment(pattern: string, text: string): boolean {
  return fits(pattern.length, text.length, {
    isStar: (at) => pattern[at] === '*',
    fitsAt: (at, index) => pattern[at] === '?' || pattern[at] === text[index],
  })
}

interface Steps {
  readonly isStar: (at: number) => boolean
  readonly fitsAt: (at: number, index: number) => boolean
}

export function fits(patternLength: number, textLength: number, { isStar, fitsAt }: Steps): boolean {
  let at = 0
  let index = 0
  let star = -1
  let resume = 0
  while (index < textLength) {
    if (at < patternLength && isStar(at)) {
      star = at
      at += 1
      resume = index
    } else if (at < patternLength && fitsAt(at, index)) {
      at += 1
      index += 1
    } else if (star >= 0) {
      resume += 1
      index = resume
      at = star + 1
    } else return false
  }
  while (at < patternLength && isStar(at)) at += 1
  return at === patternLength
}
