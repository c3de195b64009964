import { KiwiError } from '../../shared/errors.ts'
import type { JsonObject } from '../../shared/json.ts'
import { LIMITS } from '../../shared/limits.ts'
import { headingOf, readFrontMatter } from '../front-matter.ts'
import { positionIn } from '../parse-document.ts'
import type { Element } from './element.ts'
import type { Candidate } from './find-element.ts'
import { findElement } from './find-element.ts'
import { fromMatter, noteKeys, ownKeysIn } from './from-matter.ts'
import { fromXml } from './from-xml.ts'
import type { Directive } from './model.ts'
import { openNotes } from './note.ts'
import { parseFault } from './parse-fault.ts'
import { passedOver } from './passed-over.ts'
import type { Position } from './position.ts'
import { positionsIn } from './position.ts'
import { readXml } from './read-xml.ts'
import { relationsOf } from './relations.ts'
import { proposeMatter } from './repair-matter.ts'

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
  /** Where it says which version it is. */
  readonly versionAt: Position
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
  const { given, body, at } = await readFrontMatter(text, where).catch(async (error: unknown) => {
    throw await placed(text, where, error)
  })
  const start = text.length - body.length
  const isMatter = isSkill || ownKeysIn(given).length > 0
  const heading = headingOf(body)
  const found = isMatter ? null : await directiveIn(text, { where, stem, start, given })
  if (found === null || 'shown' in found) {
    const directive = fromMatter(given, { where, stem, body, at, isSkill })
    const below = { start, shown: found?.shown ?? null, ownKeys: ownKeysIn(given), isSkill }
    const passed = passedOver(text, below)
    const findings = [
      ...(passed === null ? [] : [{ ...positionsIn(text)(passed.at), message: passed.message }]),
      ...(UNCLOSED.test(body) ? [{ ...positionsIn(text)(start), message: UNCLOSED_MATTER }] : []),
    ]
    const whole = { ...directive, findings: [...directive.findings, ...findings] }
    return { given, heading, directive: whole, versionAt: at(['version']) }
  }
  const { root, end, fence } = found
  const process = await processIn(text, where, end, fence)
  const below = process === null ? belowFence(text.slice(end)) : ''
  const directive = fromXml(root, { where, stem, body: below, process })
  const { note, findings } = openNotes()
  noteKeys(given, at, note)
  const wrong = (path: readonly PropertyKey[], reason: string, hint: string): never => {
    throw parseFault(where, reason, at(path), { hint })
  }
  const relations = [...relationsOf(given['relationships'], { at, note, wrong }), ...directive.relations]
  const own = { ...directive, ...overFront(given), relations }
  const whole = { ...own, findings: [...findings, ...directive.findings] }
  const { line, column } = given['version'] === undefined ? root : at(['version'])
  return { given, heading, directive: whole, versionAt: { line, column } }
}

/** Dashes, a key, and no dashes below: those would have made it front matter. */
const UNCLOSED = /^\uFEFF?\s*---[ \t]*\r?\n[\w-]+:/
const UNCLOSED_MATTER =
  'what begins here is never closed, so that it is text: write --- below the last key of it'

/** What the front matter says of every item counts more than the same in XML. */
function overFront({ name, version, description, category }: JsonObject): Partial<Directive> {
  return {
    ...(typeof name === 'string' ? { name } : {}),
    ...(typeof version === 'string' ? { version } : {}),
    ...(typeof description === 'string' ? { description } : {}),
    ...(typeof category === 'string' ? { category } : {}),
  }
}

interface Searched {
  readonly where: string
  readonly stem: string
  /** Where the text below the front matter begins. */
  readonly start: number
  readonly given: JsonObject
}

type Read = Awaited<ReturnType<typeof readXml>> & Pick<Candidate, 'fence'>

/** The one directive of a text; where one stands that is only shown; null for neither. */
async function directiveIn(
  text: string,
  searched: Searched,
): Promise<Read | { readonly shown: number } | null> {
  const { where, stem, start, given } = searched
  const { candidate, fences } = findElement(text, 'directive', { at: start })
  if (candidate === null) return null
  const { at, fence } = candidate
  const isNamed = given['name'] !== undefined || given['version'] !== undefined
  const { name = stem } = given
  if (isNamed && (fence === null || nameAt(text, at) !== name)) return { shown: at }
  if (candidate.isDoubtful)
    throw parseFault(where, '<directive> may be a part of a comment', positionsIn(text)(at), {
      hint: 'Put an empty line in front of it, and begin comments on a line of their own',
    })
  assertPlain(text, start, at, where)
  const { root, end } = await readXml(text, where, at)
  const rest = findElement(text, 'directive', { at: end, fence })
  if (isNamed && (rest.candidate !== null || fences + rest.fences > 1 || root.attributes['name'] !== name))
    return { shown: at }
  if (rest.candidate !== null)
    throw parseFault(
      where,
      `there are several directives, the first in line ${root.line}`,
      positionsIn(text)(rest.candidate.at),
      { hint: 'Keep one, and put what is only shown into a fence of another kind, such as ```text' },
    )
  return { root, end, fence }
}

/** How the directive that begins here calls itself, before it is read. */
function nameAt(text: string, at: number): string | undefined {
  const tag = /<directive\s[^<>]*?\bname\s*=\s*["']([^"'<>]*)/y
  tag.lastIndex = at
  return tag.exec(text)?.[1]
}

function assertPlain(text: string, start: number, from: number, where: string): void {
  // One on the line of the element is found in its place.
  const declared = text.slice(start, from + '<!DOCTYPE'.length).search(/<!(?:DOCTYPE|ENTITY)/i)
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
  return text.replace(/^\s*(?:```|~~~)[^\n]*/, '').trim()
}

/** Some put their steps below the directive. */
async function processIn(
  text: string,
  where: string,
  end: number,
  fence: Candidate['fence'],
): Promise<Element | null> {
  const { candidate } = findElement(text, 'process', { at: end, fence })
  return candidate === null ? null : (await readXml(text, where, candidate.at)).root
}

/** A fault of what stands in front, with its place and, where it can be told, the line as it should be. */
async function placed(text: string, where: string, error: unknown): Promise<unknown> {
  if (!(error instanceof KiwiError)) return error
  const reason = error.message
    .replace(/^Cannot read (?:"[^"]*"): /, '')
    .replace(/ \(line \d+, column \d+\)$/, '')
  const repair = await proposeMatter(text, where, positionIn(error))
  if (repair === null) return parseFault(where, reason, positionIn(error), { hint: error.hint, cause: error })
  const { place, line } = repair
  return parseFault(where, reason, place, {
    hint: `Write line ${place.line} as: ${line.trim()} (kiwi check --fix does that)`,
    repaired: line,
    cause: error,
  })
}
