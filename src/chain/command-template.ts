import { KiwiError } from '../shared/errors.ts'
import type { JsonObject, JsonValue } from '../shared/json.ts'
import { isJsonObject, isObject } from '../shared/json.ts'
import type { Template } from '../shared/template.ts'
import { compileTemplate, textOf } from '../shared/template.ts'

/** How parameters are put on the command line; the environment and standard input carry them in any case. */
const ARGS_STYLES = ['none', 'flags', 'equals', 'positional', 'call'] as const
type ArgsStyle = (typeof ARGS_STYLES)[number]

/** The config of a chain that ends in `subprocess`, compiled. */
export interface CommandTemplate {
  readonly command: Template
  readonly args: readonly Template[]
  readonly env: readonly (readonly [string, Template])[]
  readonly cwd: Template | null
  readonly input: Template | null
  readonly entrypoint: string | null
  /** Texts and numbers of the merged config, which a runtime may place in its arguments: `{image}`. */
  readonly words: Readonly<Record<string, string>>
  readonly argsStyle: ArgsStyle
  /** Options that are spelled otherwise than their parameter; null for one that is not passed. */
  readonly flagNames: Readonly<Record<string, string | null>>
  /** Whether an argument is a file of the runtime itself. */
  readonly usesRuntimeFiles: boolean
  /** Names of the parameters in the order of the manifest. */
  readonly parameterOrder: readonly string[]
  readonly inheritEnv: boolean
  readonly timeoutMs: number
  readonly killGraceMs: number
  readonly maxOutputBytes: number
  readonly captureOutput: boolean
  /** What is known of the program holds for its arguments. */
  readonly hasArgvPolicy: boolean
}

/** Words a runtime may use in its arguments besides the parameters of the tool. */
const RUNTIME_WORDS = [
  'entrypoint',
  'entrypoint_name',
  'tool_path',
  'runtime_path',
  'project_path',
  'params_json',
  'kiwi_cache',
] as const
/** What a compiler made, and the folder it lies in. */
const COMPILED_WORDS = ['binary', 'environment']

/** Types and defaults come from the primitive's schema; what is checked here is what a schema cannot say. */
export function compileCommand(
  config: JsonObject,
  parameters: ReadonlySet<string>,
  entrypoint: string | null,
): CommandTemplate {
  const own = configWords(config)
  const made = config['compile_command'] === undefined ? [] : COMPILED_WORDS
  const words = new Set([...parameters, ...Object.keys(own), ...RUNTIME_WORDS, ...made])
  const argsStyle = ARGS_STYLES.find((style) => style === config['args_style']) ?? 'none'
  const args = argumentsOf(config, argsStyle).map((arg) => compilePath(arg, words))
  const isPlaced = args.some((arg) => holds(arg, 'entrypoint') || holds(arg, 'entrypoint_name'))
  if (isPlaced && entrypoint === null) {
    throw new KiwiError('INVALID_CONFIG', 'Cannot fill in "{entrypoint}": the item has no file to start', {
      hint: 'Add the file to the item, and name it in config.entrypoint when there are several',
    })
  }
  if (!isPlaced && entrypoint !== null && made.length === 0) args.push(compileTemplate('{entrypoint}', words))
  return {
    command: compileProgram(textOf(config['command']), new Set(made)),
    args,
    env: Object.entries(isObject(config['env']) ? config['env'] : {}).map(
      ([name, value]) => [name, compilePath(textOf(value), words)] as const,
    ),
    cwd: typeof config['cwd'] === 'string' ? compilePath(config['cwd'], words) : null,
    input: typeof config['input_data'] === 'string' ? compileTemplate(config['input_data'], words) : null,
    entrypoint,
    words: own,
    argsStyle,
    flagNames: textsOf(config['flag_names']),
    usesRuntimeFiles: args.some((arg) => holds(arg, 'runtime_path')),
    parameterOrder: [...parameters],
    inheritEnv: config['inherit_env'] === true,
    timeoutMs: timeoutMsOf(config),
    killGraceMs: numberOf(config, 'kill_grace') * 1000,
    maxOutputBytes: numberOf(config, 'max_output_bytes'),
    captureOutput: config['capture_output'] !== false,
    hasArgvPolicy: config['argv_policy'] === true,
  }
}

/** Keys the primitive itself reads: they are no words, so that a parameter may be called `timeout`. */
const OWN_KEYS = new Set(
  'command cwd timeout timeout_max max_output_bytes kill_grace args_style input_data entrypoint'.split(' '),
)

/** What the config fixes stays fixed: a parameter of the same name does not take its place. */
function configWords(config: JsonObject): Readonly<Record<string, string>> {
  const fixed = Object.entries(config).filter(
    ([key, value]) => !OWN_KEYS.has(key) && (typeof value === 'string' || typeof value === 'number'),
  )
  return Object.fromEntries(fixed.map(([key, value]) => [key, textOf(value)]))
}

/** A leading `~` is the home folder. */
function compilePath(source: string, words: ReadonlySet<string>): Template {
  return compileTemplate(/^~(?:\/|$)/.test(source) ? `\${HOME}${source.slice(1)}` : source, words)
}

/** A parameter may fill an argument; it never chooses the program. */
function compileProgram(command: string, made: ReadonlySet<string>): Template {
  const names = [...command.matchAll(/(?<!\$)\{([A-Za-z_][\w-]*)\}/g)].map(([, name = '']) => name)
  if (names.some((name) => !made.has(name))) {
    throw new KiwiError(
      'INVALID_CONFIG',
      `Cannot use command "${command}": a parameter may not choose the program`,
      {
        hint: 'Write the program out in config.command and put parameters into config.args',
      },
    )
  }
  return compilePath(command, made)
}

function holds({ segments }: Template, word: (typeof RUNTIME_WORDS)[number]): boolean {
  return segments.some((segment) => segment.kind === 'parameter' && segment.name === word)
}

/** The arguments a runtime has for a style, or those it has for all. */
function argumentsOf(config: JsonObject, style: ArgsStyle): readonly string[] {
  const { args, args_by_style: byStyle, input_data } = config
  const own = isJsonObject(byStyle) ? byStyle[style] : undefined
  if (style === 'call' && own === undefined) {
    throw new KiwiError(
      'INVALID_CONFIG',
      'Cannot use "args_style" call: the runtime has no "args_by_style.call"',
      {
        hint: 'Use python_runtime or node_runtime, or have the runtime say what calls a function',
      },
    )
  }
  if (style === 'call' && input_data !== undefined) {
    throw new KiwiError(
      'INVALID_CONFIG',
      'Cannot use "input_data" with "args_style" call: the parameters come by standard input',
    )
  }
  return listOf(own ?? args).flatMap((arg) => spread(arg, config))
}

/** `{name...}` at the end of an argument is a list of the config: one argument for each text, or each key of an object. */
function spread(arg: string, config: JsonObject): readonly string[] {
  const [, front = '', name = ''] = /^([^{}]*)\{([a-z]\w*)\.\.\.\}$/.exec(arg) ?? []
  if (name === '') return [arg]
  const value = config[name]
  return (isJsonObject(value) ? Object.keys(value) : listOf(value)).map((text) => front + text)
}

function textsOf(value: JsonValue | undefined): Readonly<Record<string, string | null>> {
  const entries = Object.entries(isJsonObject(value) ? value : {})
  return Object.fromEntries(entries.map(([key, text]) => [key, text === null ? null : textOf(text)]))
}

function listOf(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.map((item: JsonValue) => textOf(item)) : []
}

/** A number of the config; the primitive's schema has a default for each, so that the code holds none. */
export function numberOf(config: JsonObject, key: string): number {
  const value = config[key]
  if (typeof value === 'number') return value
  throw new KiwiError('INVALID_CONFIG', `Cannot use the config: "${key}" is not a number`)
}

/** The time a call has. What fills in the default does not know of a ceiling. */
export function timeoutMsOf(config: JsonObject): number {
  const ceiling = typeof config['timeout_max'] === 'number' ? config['timeout_max'] : Infinity
  return Math.min(numberOf(config, 'timeout'), ceiling) * 1000
}
