import { KiwiError } from '../shared/errors.ts'
import type { Item } from './item.ts'
import { stripSignatures } from './signature-line.ts'

interface DirectiveText {
  /** What its author wrote, without lines that sign it. */
  readonly content: string
  /** Its `<permissions>`, on the line they have in the content; null when it has none. */
  readonly permissions: string | null
}

/** The file that holds the text of a directive. */
const FILE = 'directive.md'

/** The text of a directive, and the block in it that says what it may do. */
export async function permissionsIn({ id, raw, text, files }: Item): Promise<DirectiveText> {
  const own = (await files()).find(({ path }) => path === FILE || path === raw['_file'])
  const written = own === undefined ? (text ?? '') : Buffer.from(own.content).toString('utf8')
  const content = stripSignatures(written, own?.path ?? FILE)
  return { content, permissions: findBlock(content, id) }
}

/** Looked for within `<directive>` alone, and not in its comments, examples and quotations. */
function findBlock(content: string, id: string): string | null {
  const bare = content.replaceAll(/<!--[^]*?-->|<!\[CDATA\[[^]*?\]\]>/g, (part) => ' '.repeat(part.length))
  const from = bare.search(/<directive[\s>]/)
  const end = bare.lastIndexOf('</directive>')
  if (from < 0 || end < from) return null
  const blocks = [...bare.slice(from, end).matchAll(/<permissions(?:\s[^>]*)?>/g)]
  const [first] = blocks
  if (first === undefined) return null
  if (blocks.length > 1) throw fault(id, 'there are several <permissions>')
  const start = from + first.index
  const [tag] = first
  const close = bare.indexOf(CLOSE, start)
  if (!tag.endsWith('/>') && (close < 0 || close > end)) throw fault(id, 'they are never closed')
  const block = content.slice(start, tag.endsWith('/>') ? start + tag.length : close + CLOSE.length)
  return '\n'.repeat(content.slice(0, start).split('\n').length - 1) + block
}

const CLOSE = '</permissions>'

function fault(id: string, reason: string): KiwiError {
  return new KiwiError('PARSE_ERROR', `Cannot read the permissions of "${id}": ${reason}`)
}
