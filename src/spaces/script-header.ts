/** What a source file may say about itself besides its code, in the order in which it is written. */
export const HEADER_FIELDS = ['description', 'version', 'tool_type', 'executor', 'category'] as const
export type HeaderFields = Readonly<Partial<Record<(typeof HEADER_FIELDS)[number], string>>>

/** How a language is written, as far as a header goes. */
interface Language {
  /** One field as a line. */
  readonly line: (name: keyof HeaderFields, value: string) => string
  /** Where a field that is there stands, with what is before and behind its value. */
  readonly present: (name: keyof HeaderFields) => RegExp
  /** What must stay in front of everything else. */
  readonly front: RegExp
}

const NAMES: Readonly<Record<keyof HeaderFields, string>> = {
  version: '__version__',
  tool_type: '__tool_type__',
  executor: '__executor_id__',
  category: '__category__',
  description: '__tool_description__',
}

const COMMENTS = String.raw`(?:[ \t]*(?:#[^\n]*)?\r?\n)*`
const DOCSTRING = String.raw`(?:[rRuU]?(?:"""(?:\\[^]|[^\\])*?"""|'''(?:\\[^]|[^\\])*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')[^\n]*(?:\r?\n|$))?`
const FUTURE = String.raw`(?:${COMMENTS}from[ \t]+__future__[ \t]+import[ \t]+(?:\([^)]*\)[^\n]*|[^\n(]*)(?:\r?\n|$))*`

const PYTHON: Language = {
  line: (name, value) => `${NAMES[name]} = ${JSON.stringify(value)}`,
  present: (name) =>
    new RegExp(`^(${NAMES[name]}[ \\t]*(?::[ \\t]*\\w+[ \\t]*)?=[ \\t]*)(?:"[^"\\n]*"|'[^'\\n]*')()`, 'm'),
  front: new RegExp(`^\\uFEFF?${COMMENTS}${DOCSTRING}${FUTURE}`),
}

const SHELL: Language = {
  line: (name, value) => {
    if (name === 'description') return `# ${value.replaceAll(/\s+/g, ' ')}\n#`
    return name === 'version' || name === 'category' ? `# ${name}: ${value}` : `# ${NAMES[name]} = "${value}"`
  },
  present: (name) =>
    new RegExp(`^(#[ \\t]*(?:${name}:[ \\t]*|${NAMES[name]}[ \\t]*=[ \\t]*"?))[^"\\s]+()`, 'm'),
  front: /^\uFEFF?(?:#![^\n]*(?:\n|$))?/,
}

const SCRIPT_FRONT = String.raw`^\uFEFF?(?:#![^\n]*(?:\n|$))?(?:\s*(?:\/\/[^\n]*(?:\n|$)|\/\*[^]*?\*\/))*(?:\s*(["'])use strict\1;?[ \t]*)?(?:[ \t]*(?:\r?\n|$))?`

const JAVASCRIPT: Language = {
  line: (name, value) =>
    name === 'description'
      ? `/** ${value.replaceAll('*/', '* /')} */`
      : `const ${NAMES[name]} = ${JSON.stringify(value)}`,
  present: (name) =>
    new RegExp(
      `^((?:export[ \\t]+)?const[ \\t]+${NAMES[name]}[ \\t]*(?::[ \\t]*\\w+[ \\t]*)?=[ \\t]*)(?:"[^"\\n]*"|'[^'\\n]*')()` +
        `|^([ \\t]*(?:/\\*)?\\*+[ \\t]*@${name}[ \\t]+)\\S+()`,
      'm',
    ),
  front: new RegExp(SCRIPT_FRONT),
}

const LANGUAGES: readonly (readonly [RegExp, Language])[] = [
  [/\.pyw?$/i, PYTHON],
  [/\.(?:js|mjs|cjs|ts|mts|cts)$/i, JAVASCRIPT],
  [/\.(?:sh|bash|zsh)$/i, SHELL],
]

function languageOf(fileName: string): Language | null {
  return LANGUAGES.find(([ending]) => ending.test(fileName))?.[1] ?? null
}

/** Whether a source says this of itself. */
export function hasHeader(fileName: string, text: string, field: string): boolean {
  const name = HEADER_FIELDS.find((known) => known === field)
  return name !== undefined && languageOf(fileName)?.present(name).test(text) === true
}

/** Writes fields into the header of a source file: over those it has, else in front of its code. Null for no script. */
export function setHeader(fileName: string, text: string, fields: HeaderFields): string | null {
  const language = languageOf(fileName)
  if (language === null) return null
  let edited = text
  const missing: string[] = []
  for (const name of HEADER_FIELDS) {
    const value = fields[name]
    if (value === undefined) continue
    const replaced = replaceIn(edited, language, name, value)
    if (replaced === null) missing.push(language.line(name, value))
    else edited = replaced
  }
  return missing.length === 0 ? edited : insert(edited, missing, language.front)
}

/** In the code if it says so there, and only else in the text above it. */
function replaceIn(text: string, language: Language, name: keyof HeaderFields, value: string): string | null {
  const front = language === PYTHON ? (language.front.exec(text)?.[0].length ?? 0) : 0
  for (const start of new Set([front, 0])) {
    const part = text.slice(start)
    const found = language.present(name).exec(part)
    if (found === null) continue
    const [whole, assigned, , tag] = found
    const before = assigned ?? tag ?? ''
    const isText = assigned !== undefined && language !== SHELL
    const at = start + found.index
    const written = isText ? quoted(value, whole.slice(before.length)) : value
    return text.slice(0, at) + before + written + text.slice(at + whole.length)
  }
  return null
}

/** In the quotes it was in, where the value needs no others. */
function quoted(value: string, former: string): string {
  return former.startsWith("'") && /^[\w.+-]*$/.test(value) ? `'${value}'` : JSON.stringify(value)
}

function insert(text: string, lines: readonly string[], front: RegExp): string {
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const head = front.exec(text)?.[0] ?? ''
  const line = head === '' || head.endsWith('\n') || head === '\uFEFF' ? '' : eol
  return `${head}${line}${lines.join('\n').replaceAll('\n', eol)}${eol}${text.slice(head.length)}`
}
