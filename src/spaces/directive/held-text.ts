/** Elements whose content is text, whatever it looks like. */
const HELD = ['template', 'example', 'raw'] as const

interface HeldText {
  /** The same text, of the same length and lines, with nothing in those elements. */
  readonly masked: string
  /** What stood there, by the offset at which it begins. */
  readonly held: ReadonlyMap<number, string>
}

/** Takes out what only looks like XML: it would not parse, and is not meant to be. */
export function holdText(text: string, from: number): HeldText {
  const held = new Map<number, string>()
  const parts: string[] = []
  const unclosed = new Set<string>()
  // Behind it no comment ends, and none is looked for.
  const lastEnd = Math.max(text.lastIndexOf('-->'), text.lastIndexOf(']]>'))
  let kept = 0
  for (let at = text.indexOf('<', from); at >= 0; at = text.indexOf('<', at)) {
    const past = skipped(text, at)
    if (past !== null) {
      if (past < 0) break
      at = past
      continue
    }
    const opened = openedAt(text, at)
    const end = opened === null || unclosed.has(opened.name) ? null : closeOf(text, opened, lastEnd)
    if (opened !== null && end === null) unclosed.add(opened.name)
    if (opened === null || end === null) {
      at += 1
      continue
    }
    const content = text.slice(opened.end, end)
    held.set(opened.end, content)
    parts.push(text.slice(kept, opened.end), blank(content))
    kept = end
    at = end
  }
  return { masked: parts.join('') + text.slice(kept), held }
}

/** As long as it is and with the lines it has. */
export function blank(text: string): string {
  return text.replaceAll(/[^\n]/g, ' ')
}

/** Where a comment or a quotation ends that begins here: -1 when it does not, null when there is none. */
function skipped(text: string, at: number): number | null {
  for (const [open, close] of [
    ['<!--', '-->'],
    ['<![CDATA[', ']]>'],
  ] as const) {
    if (!text.startsWith(open, at)) continue
    const end = text.indexOf(close, at + open.length)
    return end < 0 ? -1 : end + close.length
  }
  return null
}

interface Opened {
  readonly name: string
  /** Where its content begins. */
  readonly end: number
}

const TAG = new RegExp(`<(${HELD.join('|')})(?=[\\s/>])(?:[^<>"']|"[^"<]*"|'[^'<]*')*>`, 'y')

function openedAt(text: string, at: number): Opened | null {
  TAG.lastIndex = at
  const [tag, name] = TAG.exec(text) ?? []
  if (tag === undefined || name === undefined || tag.endsWith('/>')) return null
  return { name, end: at + tag.length }
}

/** Its own end: one of the same name may stand in it, and what a comment or a quotation holds is none. */
function closeOf(text: string, { name, end }: Opened, lastEnd: number): number | null {
  const tags = new RegExp(`<!--|<!\\[CDATA\\[|<(/?)${name}(?=[\\s/>])`, 'g')
  tags.lastIndex = end
  let depth = 1
  for (let tag = tags.exec(text); tag !== null; tag = tags.exec(text)) {
    const past = tag.index < lastEnd ? skipped(text, tag.index) : null
    if (past !== null && past >= 0) tags.lastIndex = past
    if (tag[1] === undefined) continue
    depth += tag[1] === '/' ? -1 : 1
    if (depth === 0) return tag.index
  }
  return null
}
