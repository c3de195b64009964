import type { Masked } from './mask.ts'
import { pythonLines } from './python-lines.ts'

/** Modules a Python source imports, by their whole paths: without relative ones, those for types only, and those it can do without. */
export function pythonImports(masked: Masked): readonly string[] {
  const blocks: Block[] = [{ indent: -1, kind: 'module', isOptional: false, optional: [], needed: [] }]
  for (const { indent, code } of pythonLines(masked)) {
    const text = code.replaceAll(/\\\r?\n/g, ' ')
    const clause = CLAUSE.exec(text)?.[1] ?? ''
    close(blocks, indent, clause)
    const top = blocks.at(-1)
    if (top?.kind === 'try' && top.indent === indent) enterClause(top, clause, text)
    else if (clause === 'try') {
      blocks.push({ indent, kind: 'try', isOptional: false, optional: [], needed: [], isGuarded: true })
    } else if (/^if\s+(?:\w+\s*\.\s*)?TYPE_CHECKING\s*:/.test(text)) {
      blocks.push({ indent, kind: 'types', isOptional: true, optional: [], needed: [], isGuarded: true })
    }
    const inner = blocks.at(-1)
    const list = inner?.isGuarded === true ? inner.optional : inner?.needed
    list?.push(...modulesIn(text))
  }
  close(blocks, -1, '')
  return blocks[0]?.needed ?? []
}

/** The same with all that it tries. */
export function triedPythonImports(masked: Masked): readonly string[] {
  return pythonLines(masked).flatMap(({ code }) => modulesIn(code.replaceAll(/\\\r?\n/g, ' ')))
}

interface Block {
  readonly indent: number
  readonly kind: 'module' | 'try' | 'types'
  /** Whether what is guarded may be missing. */
  isOptional: boolean
  /** The part of the block that is being read is guarded. */
  isGuarded?: boolean
  readonly optional: string[]
  readonly needed: string[]
}

const CLAUSE = /^(try|except|else|finally)\b/
/** What a missing module is caught by. */
const CATCHES = /^except\s*:|^except\b[^:]*\b(?:ImportError|ModuleNotFoundError|Exception|BaseException)\b/

function enterClause(block: Block, clause: string, text: string): void {
  if (clause === 'except' && CATCHES.test(text)) block.isOptional = true
  block.isGuarded = clause === 'except'
}

/** Ends the blocks that a line of this indentation is not part of. */
function close(blocks: Block[], indent: number, clause: string): void {
  for (;;) {
    const top = blocks.at(-1)
    const outer = blocks.at(-2)
    if (top === undefined || outer === undefined || top.indent < indent) return
    if (top.kind === 'try' && top.indent === indent && clause !== '' && clause !== 'try') return
    blocks.pop()
    const list = outer.isGuarded === true ? outer.optional : outer.needed
    list.push(...(top.isOptional ? [] : top.optional), ...top.needed)
  }
}

const IMPORT = /(?:^|:\s*)import\s+([^:;]+)$/
const FROM = /(?:^|:\s*)from\s+([\w.]+)\s+import\b([^:;]*)$/

/** What is imported from a module may be a module itself. */
function modulesIn(text: string): readonly string[] {
  const [, module, parts = ''] = FROM.exec(text) ?? []
  const names = namesIn(module === undefined ? (IMPORT.exec(text)?.[1] ?? '') : parts.replace('(', ' '))
  if (module === undefined) return names
  if (module.startsWith('.')) return []
  return names.length === 0 ? [module] : names.map((name) => `${module}.${name}`)
}

function namesIn(list: string): readonly string[] {
  return list.split(',').flatMap((name) => /^\s*([\w.]+)/.exec(name)?.[1] ?? [])
}
