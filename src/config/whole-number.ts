/** Digits and nothing else: `Number` would read a blank as 0 and `1e3` as a thousand. */
export function readWholeNumber(text: string): number | null {
  const number = /^[0-9]+$/.test(text) ? Number(text) : Number.NaN
  return Number.isSafeInteger(number) ? number : null
}
