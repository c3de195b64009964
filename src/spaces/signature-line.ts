import { sha256 } from '../shared/json.ts'
import type { SignatureLine, SignatureSubject } from './signature-candidates.ts'
import { candidateHashes, frontMatterHash, withoutFrontMatterHash } from './signature-candidates.ts'

/** What the signature lines of a file say about its bytes. */
export interface SignatureRead {
  /** Nobody signed it, it is as it was when somebody did, or it is not (or nobody can tell). */
  readonly state: 'unsigned' | 'validated' | 'unverified'
  /** Whose rule of hashing was met; null when there is no line, or none was. */
  readonly generation: string | null
  readonly time: string | null
  readonly hash: string | null
  /** A signature made with a key; who made it is for others to find out. */
  readonly key: KeySignature | null
  readonly findings: readonly string[]
}

export interface KeySignature {
  readonly family: string
  readonly time: string
  readonly hash: string
  readonly signature: string
  readonly fingerprint: string
}

/** Reads the lines at the top of a file, by the rules of every generation that wrote such lines. */
export function readSignature(text: string, subject: SignatureSubject): SignatureRead {
  const { lines, spoilt, bare, shebang } = blockOf(text, subject.fileName)
  if (spoilt) return { ...UNSIGNED, state: 'unverified', findings: ['text_on_signature_line'] }
  const signed = lines.filter(({ hash }) => hash !== null)
  const [first] = signed
  if (first === undefined) return subject.itemType === 'knowledge' ? readFrontMatter(bare) : UNSIGNED
  const met = signed.map((line) => generationOf(line, { bare, shebang, rest: text.slice(line.end), subject }))
  const isWhole = met.every((generation) => generation !== null)
  return {
    state: isWhole ? 'validated' : 'unverified',
    generation: isWhole ? (met[0] ?? null) : null,
    time: first.time,
    hash: first.hash,
    key: signed.map(keyOf).find((key) => key !== null) ?? null,
    findings: [],
  }
}

const UNSIGNED: SignatureRead = {
  state: 'unsigned',
  generation: null,
  time: null,
  hash: null,
  key: null,
  findings: [],
}

function readFrontMatter(bare: string): SignatureRead {
  const old = frontMatterHash(bare)
  if (old === null) return UNSIGNED
  const { time, hash, isMet } = old
  const generation = isMet ? 'front-matter' : null
  return { ...UNSIGNED, time, hash, generation, state: isMet ? 'validated' : 'unverified' }
}

/** The text without all the signature lines at its top, whoever wrote them. */
export function stripSignatures(text: string, fileName: string | null): string {
  return topOf(text, fileName).bare
}

/** The text that the lines at its top are about: one that was put beside them is a part of it. */
export function textBelowSignature(text: string, fileName: string | null): string {
  return blockOf(text, fileName).bare
}

/** The text as it is to be signed: without lines, and without what knowledge once kept in its front matter instead. */
export function unsignedText(text: string, fileName: string | null): string {
  return withoutFrontMatterHash(withSignature(text, [], fileName))
}

/** Puts these lines where signatures stand, in place of all that stood there. */
export function withSignature(text: string, lines: readonly string[], fileName: string | null): string {
  const { bare, shebang } = topOf(text, fileName)
  const mark = bare.startsWith(BOM) ? BOM : ''
  const end = /\r?\n/.exec(bare)?.[0] ?? '\n'
  const head = shebang === '' || shebang.endsWith('\n') ? shebang : shebang + end
  const written = lines.map((line) => line + end).join('')
  return mark + head + written + bare.slice(mark.length + shebang.length)
}

/** How a line of comment is written in a file of this name; null where there are none. */
export function commentStyle(fileName: string): ((line: string) => string) | null {
  const [mark] = marksOf(fileName)
  if (mark === undefined) return null
  return mark === '<!--' ? (line) => `<!-- ${line} -->` : (line) => `${mark} ${line}`
}

type Mark = '#' | '//' | '<!--'

/** What begins a comment in such a file; elsewhere it would be code, or text for a reader. */
function marksOf(fileName: string | null): readonly Mark[] {
  // A version in the registry is a manifest or a document.
  if (fileName === null) return ['#', '<!--']
  if (/\.json$/i.test(fileName)) return []
  // Such a file may carry a line in a comment that is none there: a fault of an older Kiwi.
  if (/\.js$/i.test(fileName)) return ['//', '#']
  if (/\.(?:mjs|cjs|jsx|ts|mts|cts|tsx)$/i.test(fileName)) return ['//']
  return /\.md$/i.test(fileName) ? ['<!--'] : ['#']
}

/** Signature lines of old that are no comment in the language of the file, each as an empty one: no line moves. */
export function withoutForeignMarks(text: string, fileName: string): string {
  if (commentStyle(fileName)?.('').startsWith('//') !== true) return text
  const { lines, bare, shebang } = topOf(text, fileName)
  const last = lines.at(-1)
  if (last === undefined) return text
  const top = (bare.startsWith(BOM) ? 1 : 0) + shebang.length
  return text.slice(0, top) + text.slice(top, last.end).replaceAll(/^# .*/gm, '//') + text.slice(last.end)
}

const BOM = '\uFEFF'

interface Top {
  readonly lines: readonly SignatureLine[]
  /** A line that would be a signature, were there not something else on it. */
  readonly spoilt: boolean
  readonly bare: string
  readonly shebang: string
}

const OURS = 'kiwi-mcp'

/** The lines that speak for the text: ours, one of each kind, or those of others. What stands below is text like any other. */
function blockOf(text: string, fileName: string | null): Top {
  const top = topOf(text, fileName)
  const { lines, shebang } = top
  const isOurs = lines[0]?.family === OURS
  const other = lines.findIndex(
    ({ family, kind }, at) =>
      (family === OURS) !== isOurs || (isOurs && (at > 1 || (at === 1 && kind === lines[0]?.kind))),
  )
  if (other < 0) return top
  const from = (text.startsWith(BOM) ? 1 : 0) + shebang.length
  const bare = text.slice(0, from) + text.slice(lines[other - 1]?.end)
  // Ours stand first: whatever was put above them is no word of whoever signed.
  return { ...top, lines: lines.slice(0, other), bare, spoilt: !isOurs }
}

function topOf(text: string, fileName: string | null): Top {
  const marks = marksOf(fileName)
  const from = text.startsWith(BOM) ? 1 : 0
  const shebang = /^#![^\n]*(?:\n|$)/.exec(text.slice(from))?.[0] ?? ''
  const top = from + shebang.length
  const lines: SignatureLine[] = []
  let at = top
  for (;;) {
    const end = endOfLine(text, at)
    const found = recognise(text.slice(at, end).replace(/\r?\n$/, ''), marks)
    if (found === null) break
    lines.push({ ...found, isFirst: at === 0, end })
    at = end
  }
  const next = text.slice(at, Math.min(endOfLine(text, at), at + LONGEST))
  return {
    lines,
    // Below a line that is whole it is content like any other, and hashed with it.
    spoilt: lines.length === 0 && [next, shebang.slice(0, LONGEST)].some((line) => LOOKS_SIGNED.test(line)),
    bare: at === top ? text : text.slice(0, top) + text.slice(at),
    shebang,
  }
}

function endOfLine(text: string, at: number): number {
  const end = text.indexOf('\n', at)
  return end < 0 ? text.length : end + 1
}

/** No line of ours or of the others is nearly as long. */
const LONGEST = 4096

const TIME = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z`
const LOOKS_SIGNED = new RegExp(`(?:kiwi-mcp|rye|ryeos):(?:validated|signed):${TIME}:`)

const MARKED = /^(?:(#|\/\/) (.*)|(<!--) (.*) -->)$/
const VALIDATED = new RegExp(`^(kiwi-mcp|rye|ryeos):(validated):(${TIME}):([0-9a-f]{64}|[0-9a-f]{12})$`)
const SIGNED = new RegExp(
  `^(kiwi-mcp|rye|ryeos):(signed):(${TIME}):([0-9a-f]{64}):([\\w+/-]{80,100}={0,2}):([0-9a-f]{64}|[0-9a-f]{16})(?:\\|[\\w.+-]+@[\\w.+-]+)?$`,
)
const PLACEHOLDER = new RegExp(
  `^(?:(kiwi-mcp|rye|ryeos):(validated|signed):(${TIME}|placeholder)(?::placeholder)+|(rye):(unsigned))$`,
)

type Recognised = Omit<SignatureLine, 'isFirst' | 'end'>

/** The whole line or nothing: whatever else stands on it could be code. */
function recognise(line: string, marks: readonly string[]): Recognised | null {
  const content = line.length > LONGEST ? null : commentIn(line, marks)
  if (content === null) return null
  const [, family, kind, time, hash, signature = null, fingerprint = null] =
    VALIDATED.exec(content) ?? SIGNED.exec(content) ?? []
  if (family !== undefined && kind !== undefined && time !== undefined && hash !== undefined) {
    return { family, kind, time, hash, signature, fingerprint }
  }
  if (!PLACEHOLDER.test(content)) return null
  return { family: 'rye', kind: 'unsigned', time: null, hash: null, signature: null, fingerprint: null }
}

function commentIn(line: string, marks: readonly string[]): string | null {
  const [, sign, rest, opening, inside] = MARKED.exec(line) ?? []
  return marks.includes(sign ?? opening ?? '') ? (rest ?? inside ?? null) : null
}

function keyOf({ family, time, hash, signature, fingerprint }: SignatureLine): KeySignature | null {
  if (time === null || hash === null || signature === null || fingerprint === null) return null
  return { family, time, hash, signature, fingerprint }
}

interface Parts {
  readonly bare: string
  readonly shebang: string
  readonly rest: string
  readonly subject: SignatureSubject
}

/** The first rule by which the hash on the line is that of the file. */
function generationOf(line: SignatureLine, parts: Parts): string | null {
  const { hash } = line
  if (hash === null) return null
  // A rule that leaves nothing to be hashed would hold for any file.
  const met = candidateHashes(line, parts).find(
    ([generation, hashed]) =>
      (hashed !== '' || generation === 'kiwi') && sha256(hashed).slice(0, hash.length) === hash,
  )
  return met?.[0] ?? null
}
