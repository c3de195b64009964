import { KiwiError } from '../../shared/errors.ts'
import type { JsonObject } from '../../shared/json.ts'
import { LIMITS } from '../../shared/limits.ts'
import { headingOf, readFrontMatter } from '../front-matter.ts'
import { positionIn } from '../parse-document.ts'
import type { Element } from './element.ts'
import { fromMatter, noteKeys, OWN_KEYS } from './from-matter.ts'
import { fromXml } from './from-xml.ts'
import type { Directive } from './model.ts'
import { openNotes } from './note.ts'
import { parseFault } from './parse-fault.ts'
import { positionsIn } from './position.ts'
import { readXml } from './read-xml.ts'

export interface DirectiveOrigin {
  /** What messages call it. */
  readonly where: string
  /** Its name, when it does not say so itself. */
  readonly stem: string
  readonly isSkill: boolean
}

interface Parsed {
  readonly directive: Directive
  /** What stands in front of it as data. */
  readonly given: JsonObject
  /** Of the text, for one that does not describe itself. */
  readonly heading: string | undefined
}

/** Reads the text of a directive in any dialect. Whatever is wrong with it is a PARSE_ERROR with its place in the file. */
export async function parseDirective(text: string, origin: DirectiveOrigin): Promise<Parsed> {
  const { where, stem, isSkill } = origin
  if (Buffer.byteLength(text) > LIMITS.itemBytes)
    throw parseFault(
      where,
      `it is larger than ${LIMITS.itemBytes} bytes`,
      { line: 1, column: 1 },
      {
        hint: 'Move what it only quotes into knowledge, or make several directives of it',
      },
    )
  const { given, body, at } = await readFrontMatter(text, where).catch((error: unknown) => {
    throw placed(where, error)
  })
  const start = text.length - body.length
  const isMatter = isSkill || OWN_KEYS.some((key) => given[key] !== undefined)
  const from = isMatter ? null : findXml(text, start, where)
  const heading = headingOf(body)
  if (from === null)
    return { given, heading, directive: fromMatter(given, { where, stem, body, at, isSkill }) }
  const { root, end } = await readXml(text, where, from)
  const below = belowFence(text.slice(end))
  const process = await processIn(text, where, end)
  const directive = fromXml(root, { where, stem, body: process === null ? below : '', process })
  const { note, findings } = openNotes()
  noteKeys(given, at, note)
  const whole = { ...directive, ...overFront(given), findings: [...findings, ...directive.findings] }
  return { given, heading, directive: whole }
}

/** What the front matter says of every item counts more than the same in XML. */
function overFront({ name, version, description, category }: JsonObject): Partial<Directive> {
  return {
    ...(typeof name === 'string' ? { name } : {}),
    ...(typeof version === 'string' ? { version } : {}),
    ...(typeof description === 'string' ? { description } : {}),
    ...(typeof category === 'string' ? { category } : {}),
  }
}

/** Where the directive begins: at the start of a line or after a tag, and not in a comment. */
function findXml(text: string, start: number, where: string): number | null {
  const tags = /<!--|(?<=(?:^|>)[ \t\uFEFF]*)<directive(?=[\s/>])/gm
  tags.lastIndex = start
  for (let tag = tags.exec(text); tag !== null; tag = tags.exec(text)) {
    if (tag[0] !== '<!--') {
      assertPlain(text, start, tag.index, where)
      return tag.index
    }
    const close = text.indexOf('-->', tag.index)
    if (close < 0) return null
    tags.lastIndex = close
  }
  return null
}

function assertPlain(text: string, start: number, from: number, where: string): void {
  const declared = text.slice(start, from).search(/<!(?:DOCTYPE|ENTITY)/i)
  if (declared >= 0)
    throw parseFault(where, 'it has a document type', positionsIn(text)(start + declared), {
      hint: 'Remove it: a directive has no document type',
    })
  if (text.includes('</directive>', from) || /<directive[^<>]*\/>/y.test(text.slice(from))) return
  throw parseFault(where, '<directive> is never closed', positionsIn(text)(from), {
    hint: 'Write </directive> where it ends',
  })
}

/** Text below the fence that the directive stands in. */
function belowFence(text: string): string {
  return text.replace(/^\s*```[^\n]*/, '').trim()
}

/** Some put their steps below the directive. */
async function processIn(text: string, where: string, end: number): Promise<Element | null> {
  const at = text.slice(end).search(/^[ \t]*<process[\s>]/m)
  return at < 0 ? null : (await readXml(text, where, text.indexOf('<process', end + at))).root
}

function placed(where: string, error: unknown): unknown {
  if (!(error instanceof KiwiError)) return error
  const reason = error.message
    .replace(/^Cannot read (?:"[^"]*"): /, '')
    .replace(/ \(line \d+, column \d+\)$/, '')
  return parseFault(where, reason, positionIn(error), { hint: error.hint, cause: error })
}
