/** A whole number of so many digits may be one that cannot be kept. */
const LONG = /\d{16}/
const [QUOTE, BACKSLASH] = ['"', '\\'].map((sign) => sign.charCodeAt(0))

/**
 * JSON whose whole numbers beyond 2^53 are written as texts: parsed as numbers they would fall together with their
 * neighbours. Everything else stays as it is.
 */
export function withExactNumbers(json: string): string {
  if (!LONG.test(json)) return json
  const parts: string[] = []
  let from = 0
  for (let at = 0; at < json.length;) {
    // A text may hold any digits, and millions of them.
    if (json.charCodeAt(at) === QUOTE) {
      at = endOfString(json, at)
      continue
    }
    const end = endOfNumber(json, at)
    const number = json.slice(at, end)
    if (isInexact(number)) {
      parts.push(json.slice(from, at), `"${number}"`)
      from = end
    }
    at = Math.max(end, at + 1)
  }
  return parts.join('') + json.slice(from)
}

function endOfString(json: string, start: number): number {
  let at = start + 1
  for (; at < json.length; at++) {
    const sign = json.charCodeAt(at)
    if (sign === QUOTE) return at + 1
    if (sign === BACKSLASH) at += 1
  }
  return at
}

function endOfNumber(json: string, start: number): number {
  let at = start
  while (at < json.length && NUMBER_SIGNS.has(json.charCodeAt(at))) at += 1
  return at
}

const NUMBER_SIGNS: ReadonlySet<number> = new Set(Array.from('0123456789+-.eE', (sign) => sign.charCodeAt(0)))

function isInexact(number: string): boolean {
  return number.length >= 16 && /^-?\d+$/.test(number) && !Number.isSafeInteger(Number(number))
}
