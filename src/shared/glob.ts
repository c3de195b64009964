/** Whether a name such as `acme.mail` or `acme/net/mail` fits: `*` is any part without `/`, `**` any at all, `?` one character. */
export function fitsGlob(pattern: string, name: string): boolean {
  const source = pattern.replaceAll(
    /\*\*\/|\*+|\?|[^\w/-]/g,
    (part) => PARTS[part] ?? (part.startsWith('*') ? '.*' : `\\${part}`),
  )
  return new RegExp(`^${source}$`).test(name)
}

const PARTS: Readonly<Record<string, string>> = { '**/': '(?:.*/)?', '*': '[^/]*', '?': '[^/]' }

/** Whether a text is a pattern rather than a name. */
export function isGlob(text: string): boolean {
  return /[*?]/.test(text)
}
