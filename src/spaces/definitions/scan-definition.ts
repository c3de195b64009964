import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { RE2JS } from 're2js'
import { z } from 'zod'
import { GROUPS } from '../../shared/groups.ts'
import { hiddenIn, hiddenWords, withoutHidden } from '../../shared/hidden.ts'
import type { JsonObject, JsonValue } from '../../shared/json.ts'
import { isObject } from '../../shared/json.ts'
import { textOf } from '../../shared/template.ts'
import { parseDocument } from '../parse-document.ts'
import type { OtherServer } from './references.ts'
import { referencesIn } from './references.ts'

/** Something in a definition that a person should look at. */
export interface Finding {
  /** What it is, and where. */
  readonly says: string
  readonly kind: string
  /** It keeps the definition from agents by itself. */
  readonly isAlone: boolean
}

/** Looks at one definition after the other of one listing; `own` are the names in it. */
export type Scan = (
  raw: JsonObject,
  around: { readonly own: ReadonlySet<string>; readonly others: readonly OtherServer[] },
) => readonly Finding[]

const Rule = z.strictObject({
  id: z.string(),
  kind: z.string(),
  says: z.string(),
  alone: z.boolean().default(false),
  starts: z.array(z.string().min(1)).min(1),
  pattern: z.string().min(1),
  examples: z.strictObject({ match: z.array(z.string()), not_match: z.array(z.string()) }),
})
type Rule = z.infer<typeof Rule>
const Table = z.strictObject({ rules: z.array(Rule).min(1), endings: z.array(z.string()) })

/** Characters a pattern may look at from where it starts. */
const WINDOW = 240
/** Places of one listing at which a pattern is tried: what comes after them was not looked at. */
const MOST_TRIES = 2000
const NOT_LOOKED_AT: Finding = {
  says: 'more suspicious words in the listing than are looked at',
  kind: 'length',
  isAlone: true,
}

/** Reads the patterns, which are data, when a listing is first looked at. Each scan is for one listing. */
export function openDefinitionScan(builtinFolder: string): () => Promise<Scan> {
  let table: Promise<Patterns> | null = null
  return async () => {
    const patterns = await (table ??= readPatterns(builtinFolder).catch((error: unknown) => {
      table = null
      throw error
    }))
    const budget = { tries: 0 }
    return (raw, around) => scanOne(raw, around, patterns, budget)
  }
}

/** Whether what was found keeps a definition from agents: words are not enough, unless two kinds of them come together. */
export function isDamning(findings: readonly Finding[]): boolean {
  return findings.some(({ isAlone }) => isAlone) || new Set(findings.map(({ kind }) => kind)).size > 1
}

interface Patterns {
  readonly starts: RegExp
  readonly rules: ReadonlyMap<string, readonly ReadyRule[]>
  readonly endings: ReadonlySet<string>
  /** The tools that are shipped, by their group. */
  readonly ours: readonly OtherServer[]
}

interface ReadyRule extends Rule {
  /** Whether it fits from the beginning of a text on. */
  fits(text: string): boolean
}

async function readPatterns(builtinFolder: string): Promise<Patterns> {
  const path = join(builtinFolder, 'config', 'definition-patterns.yaml')
  const { rules, endings } = Table.parse(await parseDocument(await readFile(path, 'utf8'), path))
  const { RE2JS: Expression } = await import('re2js')
  const byStart = new Map<string, ReadyRule[]>()
  for (const rule of rules) {
    const ready = toReady(rule, Expression)
    for (const start of rule.starts) byStart.set(start, [...(byStart.get(start) ?? []), ready])
  }
  const longest = [...byStart.keys()].toSorted((a, b) => b.length - a.length)
  const escaped = longest.map((start) =>
    start.replaceAll(/\W/gu, (sign) => `\\u{${sign.codePointAt(0)?.toString(16)}}`),
  )
  return {
    starts: new RegExp(`(?<![a-z0-9_])(?:${escaped.join('|')})`, 'gu'),
    rules: byStart,
    endings: new Set(endings),
    ours: await shippedTools(builtinFolder),
  }
}

/** Most listings hold the words of a few rules only, and compiling all takes longer than looking at a listing. */
function toReady(rule: Rule, Expression: typeof RE2JS): ReadyRule {
  let compiled: RE2JS | null = null
  return {
    ...rule,
    fits(text) {
      compiled ??= Expression.compile(rule.pattern)
      return compiled.matcher(text).lookingAt()
    },
  }
}

async function shippedTools(builtinFolder: string): Promise<readonly OtherServer[]> {
  return Promise.all(
    GROUPS.map(async (name) => ({
      name,
      tools: (await readdir(join(builtinFolder, 'tools', name)))
        .filter((file) => file.startsWith(`${name}.`))
        .map((file) => file.slice(name.length + 1).replace(/\.yaml$/, '')),
    })),
  )
}

function scanOne(
  raw: JsonObject,
  { own, others }: Parameters<Scan>[1],
  patterns: Patterns,
  budget: { tries: number },
): readonly Finding[] {
  const findings: Finding[] = []
  const found = new Set<string>()
  const add = (kind: string, says: string, isAlone: boolean): void => {
    findings.push({ kind, says, isAlone })
  }
  for (const [field, value] of Object.entries(raw)) {
    const { keys, texts } = textsOf(value)
    const all = [field, ...keys, ...texts].join('\n')
    const hidden = hiddenIn(all)
    if (hidden.length > 0)
      add('hidden', `hidden characters ${hidden.slice(0, 8).join(' ')} in "${field}"`, true)
    for (const words of hiddenWords(all))
      add('hidden', `hidden text in "${field}": ${words.slice(0, 200)}`, true)
    if ([...texts, ...keys].some(isPushedAway))
      add('hidden', `text behind more blanks than are shown in "${field}"`, true)
    const mixed = keys.find(isMixed)
    if (mixed !== undefined)
      add('look-alike', `a name of letters of two scripts in "${field}": ${mixed}`, true)
    for (const { id, kind, says, alone } of ordersIn(folded(all), patterns, budget, found)) {
      found.add(id)
      add(kind, `${says} in "${field}"`, alone)
    }
    // A name that holds a blank is a sentence; others, such as `git.branch`, are names of settings.
    const text = [...texts, ...keys.filter((key) => /\s/.test(key))].map(withoutHidden).join('\n')
    const { endings } = patterns
    const around = { self: textOf(raw['name']), own, endings }
    const named = referencesIn(text, { ...around, others })
    if (named !== null)
      add('reference', `a tool of another server in "${field}": ${named.name}`, named.isAlone)
    // Words such as `git.branch` stand for other things too.
    const ours = referencesIn(text, { ...around, others: patterns.ours })
    if (ours !== null) add('reference', `a tool of Kiwi's own in "${field}": ${ours.name}`, false)
  }
  return budget.tries > MOST_TRIES ? [...findings, NOT_LOOKED_AT] : findings
}

/** What stands behind so many blanks is out of sight of whoever looks at the text. */
function isPushedAway(text: string): boolean {
  return PUSHED.test(text.trim())
}

const PUSHED = /(?<![\s\u2800])[\s\u2800]{100}|(?:\n[^\S\n]*){20}/u

/** One script cannot be told from the other by looking. */
function isMixed(name: string): boolean {
  return /\p{Script=Latin}/u.test(name) && /[\p{Script=Cyrillic}\p{Script=Greek}]/u.test(name)
}

function folded(text: string): string {
  return withoutHidden(text)
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll('’', "'")
    .replaceAll(/[\s\u2800]+/g, (blanks) => (blanks.includes('\n') ? '\n' : ' '))
}

/** The rules that fit somewhere, each once. */
function ordersIn(
  text: string,
  { starts, rules }: Patterns,
  budget: { tries: number },
  known: ReadonlySet<string>,
): readonly ReadyRule[] {
  const found = new Set<ReadyRule>()
  for (const { 0: start, index } of text.matchAll(starts)) {
    for (const rule of rules.get(start) ?? []) {
      if (found.has(rule) || known.has(rule.id)) continue
      budget.tries += 1
      if (budget.tries > MOST_TRIES) return [...found]
      const window = text.slice(index, index + WINDOW).replaceAll('\n', ' ')
      if (rule.fits(window)) found.add(rule)
    }
  }
  return [...found]
}

function textsOf(value: JsonValue): { readonly keys: readonly string[]; readonly texts: readonly string[] } {
  const keys: string[] = []
  const texts: string[] = []
  const open: JsonValue[] = [value]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next === 'string') texts.push(next)
    else if (Array.isArray(next)) for (const item of next) open.push(item)
    else if (isObject(next)) {
      for (const [key, item] of Object.entries(next)) {
        keys.push(key)
        open.push(item)
      }
    }
  }
  return { keys, texts }
}
