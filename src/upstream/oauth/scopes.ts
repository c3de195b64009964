/** Scopes as OAuth writes them: words with spaces between, each once, in the order they first came. */
export function joinScopes(...scopes: readonly (string | null | undefined)[]): string {
  const words = scopes.flatMap((scope) => scope?.split(/\s+/) ?? [])
  return [...new Set(words.filter((word) => word !== ''))].join(' ')
}

/** Whether something of `wanted` is missing in `given`. */
export function isWider(wanted: string, given: string): boolean {
  const has = new Set(given.split(/\s+/))
  return joinScopes(wanted)
    .split(' ')
    .some((word) => word !== '' && !has.has(word))
}
