/** A language whose source alone can be a tool: what it is called, what runs it, how its files end. */
export interface Language {
  readonly type: string
  readonly executor: string
  /** The first is what a new file gets. */
  readonly endings: readonly string[]
  /** Programs that a first line may name. */
  readonly command: RegExp
}

export const LANGUAGES: readonly Language[] = [
  { type: 'python', executor: 'python_runtime', endings: ['.py'], command: /^python[\d.]*$/ },
  { type: 'bash', executor: 'bash_runtime', endings: ['.sh'], command: /^(?:ba|da)?sh$/ },
  { type: 'node', executor: 'node_runtime', endings: ['.mjs', '.js', '.cjs'], command: /^node(?:js)?$/ },
  { type: 'deno', executor: 'deno_runtime', endings: ['.ts'], command: /^deno$/ },
]

/** By how the name of a file ends. */
export function languageByEnding(ending: string): Language | null {
  return LANGUAGES.find(({ endings }) => endings.includes(ending)) ?? null
}

/** By the program that a first line names. */
export function languageByCommand(command: string): Language | null {
  return LANGUAGES.find((language) => language.command.test(command)) ?? null
}

/** The program that the first line of a source names; null without such a line. */
export function shebangOf(source: string): string | null {
  const [, program, argument] = /^\uFEFF?#!\s*(\S+)(?:[ \t]+(?:-S[ \t]+)?(\S+))?/.exec(source) ?? []
  return (program?.endsWith('/env') === true ? argument : program)?.split('/').at(-1) ?? null
}
