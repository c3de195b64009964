/** How a directive is written: what is said of it uses the words of its author. */
export type Dialect = 'xml' | 'yaml' | 'skill'

/** A section or element by its name, as its author would write it. */
export function nameIn(dialect: Dialect, name: string): string {
  if (dialect === 'xml') return `<${name}>`
  return dialect === 'skill' && name === 'tools' ? '"allowed-tools"' : `"${name}"`
}

/** One element with its attributes; as data it is an entry of a list. */
export function lineIn(dialect: Dialect, name: string, attributes: Readonly<Record<string, string>>): string {
  const entries = Object.entries(attributes)
  if (dialect === 'xml')
    return `<${name}${entries.map(([key, value]) => ` ${key}="${xmlText(value)}"`).join('')}/>`
  return `- ${name}: {${entries.map(([key, value]) => `${key}: ${yamlText(value)}`).join(', ')}}`
}

export function xmlText(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}

/** A text as YAML reads it back, quoted where it would be something else. */
export function yamlText(text: string): string {
  const isPlain = /^[A-Za-z_][\w/-]*$/.test(text) && !/^(?:true|false|null|yes|no|on|off)$/i.test(text)
  return isPlain ? text : JSON.stringify(text)
}
