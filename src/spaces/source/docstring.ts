import { KiwiError } from '../../shared/errors.ts'
import type { JsonObject } from '../../shared/json.ts'
import { parsePlain } from '../../shared/json.ts'
import { parseDocument } from '../parse-document.ts'
import type { Declared } from './declared.ts'
import { metadataOf, readParameterLine, readSchema } from './declared.ts'

/** What the text at the top of a module says. */
export interface Docstring {
  readonly description: string
  readonly schema: JsonObject | null
  /** Metadata as lines of the text, for files that have no constants. */
  readonly metadata: Partial<Declared>
  readonly text: string
  readonly warnings: readonly string[]
}

const END_OF_FIRST = /^\s*$|^\s*(?:Usage|Args|Arguments|Dependencies|Config Schema):/i

export async function readDocstring(raw: string): Promise<Docstring> {
  const text = dedent(raw)
  const lines = text.split('\n')
  const end = lines.findIndex((line) => END_OF_FIRST.test(line))
  const first = end < 0 ? lines : lines.slice(0, end)
  const section = sectionOf(lines, /^\s*Config Schema:\s*$/i)
  const schema = section === null ? null : await readSection(section)
  return {
    description: first.map((line) => line.trim()).join(' '),
    schema,
    metadata: metadataIn(lines),
    text,
    warnings: section !== null && schema === null ? ['its "Config Schema" section cannot be read'] : [],
  }
}

/** Without the indentation that all lines but the first share. */
function dedent(raw: string): string {
  const [first = '', ...rest] = raw.trim().split('\n')
  const indents = rest
    .filter((line) => line.trim() !== '')
    .map((line) => line.length - line.trimStart().length)
  const shared = indents.reduce((least, indent) => Math.min(least, indent), Infinity)
  return [first, ...rest.map((line) => line.slice(Number.isFinite(shared) ? shared : 0))]
    .map((line) => line.trimEnd())
    .join('\n')
}

/** The lines below a heading that are indented deeper than it, or all up to an empty line when none is. */
function sectionOf(lines: readonly string[], heading: RegExp): readonly string[] | null {
  const at = lines.findIndex((line) => heading.test(line))
  if (at < 0) return null
  const indent = indentOf(lines[at] ?? '')
  const below = lines.slice(at + 1)
  const isDeeper = indentOf(below.find((line) => line !== '') ?? '') > indent
  const end = below.findIndex((line) => (isDeeper ? line !== '' && indentOf(line) <= indent : line === ''))
  return end < 0 ? below : below.slice(0, end)
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length
}

async function readSection(section: readonly string[]): Promise<JsonObject | null> {
  const lines = section.map((line) => line.trim()).filter((line) => line !== '')
  const parameters = lines.map(readParameterLine).filter((parameter) => parameter !== null)
  if (parameters.length > 0 && parameters.length === lines.length) return { parameters }
  const text = section.join('\n')
  const json = parsePlain(text)
  if (json !== undefined) return readSchema(json)
  try {
    return readSchema(await parseDocument(dedent(`\n${text}`), 'Config Schema'))
  } catch (error) {
    if (error instanceof KiwiError) return null
    throw error
  }
}

const METADATA =
  /^\s*(?:__)?(version|tool_type|executor_id|category)(?:__)?\s*[:=]\s*["']?([\w./-]+)["']?\s*$/i

function metadataIn(lines: readonly string[]): Partial<Declared> {
  return metadataOf(
    Object.fromEntries(
      lines.flatMap((line) => {
        const [, name, value] = METADATA.exec(line) ?? []
        return name === undefined || value === undefined ? [] : [[`__${name.toLowerCase()}__`, value]]
      }),
    ),
  )
}
