import { LIMITS } from '../../shared/limits.ts'

/** A command line compiled: pipelines of argv, each with what joins it to the one before. */
export type Line = readonly Step[]

export interface Step {
  /** The first has `;`. */
  readonly joint: '&&' | '||' | ';'
  readonly pipeline: readonly (readonly string[])[]
}

/** What the grammar does not take, and where; columns are counted from 1. */
export interface Untaken {
  readonly untaken: string
  readonly column: number
}

/**
 * Words, quotes, `&&`, `||`, `;`, newline and `|`: nothing is ever expanded. The grammar is closed, so that what it
 * takes means the same to every reader: whatever else a shell knows is not in it.
 */
export function compileLine(command: string): Line | Untaken {
  if (command.length > LIMITS.lineCharacters) {
    return { untaken: `more than ${LIMITS.lineCharacters} characters`, column: LIMITS.lineCharacters + 1 }
  }
  const tokens: Token[] = []
  for (let at = 0; at < command.length;) {
    const token = readToken(command, at)
    if ('untaken' in token) return token
    tokens.push(token)
    at = token.end
  }
  return joinTokens(
    tokens.filter(({ kind }) => kind !== 'blank'),
    command.length,
  )
}

/** The same line as text: compiled again it is the same. */
export function printLine(line: Line): string {
  return line
    .map(({ joint, pipeline }, at) => {
      const text = pipeline.map((argv) => argv.map(printWord).join(' ')).join(' | ')
      return at === 0 ? text : `${joint === ';' ? ';' : ` ${joint}`} ${text}`
    })
    .join('')
}

type Token =
  | { readonly kind: 'blank' | 'newline' | Operator; readonly at: number; readonly end: number }
  | Word

interface Word {
  readonly kind: 'word'
  readonly text: string
  /** As it was written, for what only counts without quotes. */
  readonly source: string
  readonly at: number
  readonly end: number
}

type Operator = '&&' | '||' | ';' | '|'

const BLANK = /[ \t]+/y
const OPERATOR = /&&|\|\||[;|\n]/y
/** One piece of a word: plain characters, a tilde that no shell expands, or a quoted part. */
const PIECE = /[\p{L}\p{N}\p{M}_@%+=:,./^-]+|(?<=[A-Za-z0-9^~])~|'([^'\0]*)'|"([^"$`\\!\0]*)"/uy

function readToken(command: string, at: number): Token | Untaken {
  const blank = matchAt(BLANK, command, at)
  if (blank !== null) return { kind: 'blank', at, end: at + blank[0].length }
  const operator = matchAt(OPERATOR, command, at)
  if (operator !== null) {
    const [text] = operator
    return { kind: text === '\n' ? 'newline' : asOperator(text), at, end: at + text.length }
  }
  let end = at
  let text = ''
  for (let piece = matchAt(PIECE, command, end); piece !== null; piece = matchAt(PIECE, command, end)) {
    const [whole, single, double] = piece
    text += single ?? double ?? whole
    end += whole.length
  }
  const next = command.slice(end, end + 2)
  const isEnded = next === '' || /^(?:[ \t\n;|]|&&)/.test(next)
  return isEnded ? { kind: 'word', text, source: command.slice(at, end), at, end } : untakenAt(command, end)
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(text)
}

function asOperator(text: string): Operator {
  return (['&&', '||', '|'] as const).find((operator) => operator === text) ?? ';'
}

/** A quote that is not taken is one that is not closed, or holds what a shell would expand. */
function untakenAt(command: string, at: number): Untaken {
  const [quote = ''] = command.slice(at, at + 1)
  const inside = quote === '"' ? /["$`\\!\0]/.exec(command.slice(at + 1)) : null
  if (inside !== null && inside[0] !== '"') {
    return { untaken: `${nameOf(inside[0])} in double quotes`, column: at + 2 + inside.index }
  }
  const isQuote = quote === '"' || quote === "'"
  const character = String.fromCodePoint(command.codePointAt(at) ?? 0)
  return { untaken: isQuote ? `a ${quote} that is not closed` : nameOf(character), column: at + 1 }
}

function nameOf(character: string): string {
  return /[\p{C}\p{Z}]/u.test(character)
    ? `the character U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
    : `"${character}"`
}

/** Reserved words, and commands of the shell itself: no program does what they do. */
const SHELL_WORDS = new Set(
  (
    'if then elif else fi for while until do done case esac in select function time coproc ' +
    'cd pushd popd export unset set source . eval exec alias unalias trap exit return shift local declare ' +
    'typeset readonly read wait jobs fg bg ulimit umask hash builtin command'
  ).split(' '),
)
const ASSIGNMENT = /^[A-Za-z_]\w*\+?=/

function joinTokens(tokens: readonly Token[], length: number): Line | Untaken {
  const line: { joint: Step['joint']; pipeline: string[][] }[] = []
  let joint: Step['joint'] | '|' | null = ';'
  let count = 0
  for (const token of tokens) {
    if (token.kind === 'word') {
      if (joint !== null) {
        const fault = commandFault(token, ++count)
        if (fault !== null) return fault
        if (joint === '|') line.at(-1)?.pipeline.push([])
        else line.push({ joint, pipeline: [[]] })
        joint = null
      }
      line.at(-1)?.pipeline.at(-1)?.push(token.text)
      continue
    }
    const operator: Operator = token.kind === 'newline' || token.kind === 'blank' ? ';' : token.kind
    if (joint === null) joint = operator
    else if (token.kind !== 'newline')
      return { untaken: `"${operator}" without a command before it`, column: token.at + 1 }
  }
  return endOf(joint, length) ?? (line.length === 0 ? { untaken: 'no command', column: 1 } : line)
}

function endOf(joint: string | null, length: number): Untaken | null {
  const isOpen = joint !== null && joint !== ';'
  return isOpen ? { untaken: `nothing after "${joint}"`, column: length + 1 } : null
}

function commandFault({ source, at }: Word, count: number): Untaken | null {
  if (count > LIMITS.lineCommands)
    return { untaken: `more than ${LIMITS.lineCommands} commands`, column: at + 1 }
  if (SHELL_WORDS.has(source)) return { untaken: `"${source}", which only a shell knows`, column: at + 1 }
  return ASSIGNMENT.test(source) ? { untaken: 'a variable set before a command', column: at + 1 } : null
}

const PLAIN = /^[\p{L}\p{N}\p{M}_@%+:,./^-]+$/u

function printWord(word: string): string {
  if (PLAIN.test(word) && !SHELL_WORDS.has(word)) return word
  return (
    word
      .split("'")
      .map((part) => (part === '' ? '' : `'${part}'`))
      .join(`"'"`) || "''"
  )
}
