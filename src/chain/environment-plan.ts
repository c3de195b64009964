import { z } from 'zod'
import { KiwiError } from '../shared/errors.ts'
import { IN_WORDS, fieldFaults } from '../shared/field-faults.ts'
import type { JsonObject, JsonValue } from '../shared/json.ts'
import { isObject } from '../shared/json.ts'
import { textOf } from '../shared/template.ts'
import type { Item } from '../spaces/item.ts'
import type { Requirement, RequirementFormat } from './requirements.ts'
import { assertFew, readRequirements } from './requirements.ts'

const Step = z.strictObject({
  /** What a person reads while it runs. */
  say: z.string().min(1),
  /** The program and its arguments. */
  run: z.array(z.string()).min(1),
})

const Arguments = z.array(z.string())
const Variables = z.record(z.string().regex(/^[A-Za-z_]\w*$/), z.string())

/** How a runtime says, as data, what it makes ready before a script runs. */
const Declared = z.strictObject({
  /** The language whose imports are looked for, and whose settings under `packages` in kiwi.json apply. */
  language: z.string().min(1).optional(),
  /** The file of a tool that names packages; one that ends in .json is read like a package.json. */
  file: z.string().regex(/^\w[\w.-]*$/, 'must be the name of a file'),
  /** The key of the config that turns it off when it is false. */
  switch: z.string().min(1).optional(),
  /** Settings under `packages` in kiwi.json, and the arguments each becomes, or the variables of the steps. */
  options: z
    .record(
      z.string(),
      z.strictObject({
        given: Arguments.default([]),
        otherwise: Arguments.default([]),
        /** The values of a list stand in one variable, with a blank between them. */
        env: Variables.default({}),
      }),
    )
    .default({}),
  /** The first whose first program is found builds. */
  builders: z.array(z.array(Step).min(1)).min(1),
  /** Variables of its steps and of the program that runs with it. */
  env: Variables.default({}),
  /** What is started in place of the bare program. */
  command: z
    .string()
    .regex(/^\{environment\}\/(?!.*\.\.)/, 'must begin with {environment}/')
    .optional(),
  /** The files of the tool lie inside, where its interpreter looks for packages upwards. */
  holds_files: z.boolean().default(false),
  /** Seconds for all steps. */
  timeout: z.number().positive().default(600),
})
type Declared = z.infer<typeof Declared>

/** What has to be there before a program can run: packages, or the program itself. Depends on content alone. */
export interface EnvironmentPlan {
  /** The tool that declares it. */
  readonly runtime: Pick<Item, 'id' | 'space'>
  readonly builders: Declared['builders']
  readonly env: Declared['env']
  readonly timeoutMs: number
  /** What must have been made, relative to the folder; null when the folder alone tells. */
  readonly product: string | null
  readonly packages: PackagePlan | null
  /** Whether a step names a file of the runtime itself. */
  readonly usesRuntimeFiles: boolean
}

export interface PackagePlan {
  readonly language: string | null
  readonly file: string
  readonly format: RequirementFormat
  readonly options: Declared['options']
  readonly holdsFiles: boolean
  readonly isOff: boolean
  /** Where environments lie, when the config says. */
  readonly root: string | null
  /** What the manifests of the chain name. */
  readonly required: readonly Requirement[]
  /** Whether the tool itself says what it needs, so that nothing is guessed. */
  readonly isDeclared: boolean
}

/** Null: its program needs nothing. */
export function planEnvironment(
  items: readonly Item[],
  config: JsonObject,
  entrypoint: string | null,
): EnvironmentPlan | null {
  const [leaf] = items
  if (leaf === undefined) return null
  for (const item of items) assertLeftToRuntime(item)
  const { id, space } = items.find(({ manifest }) => manifest.tool_type === 'runtime') ?? leaf
  if (config['compile_command'] !== undefined) return planCompilation({ id, space }, config, entrypoint)
  if (config['environment'] === undefined) return null
  const declared = readDeclared(config['environment'], leaf.id)
  const format: RequirementFormat = declared.file.endsWith('.json') ? 'object' : 'lines'
  const read = (key: string): readonly Requirement[] => readRequirements(listOf(config[key]), format, leaf.id)
  return {
    runtime: { id, space },
    builders: declared.builders,
    env: declared.env,
    timeoutMs: declared.timeout * 1000,
    product: declared.command?.slice('{environment}/'.length) ?? null,
    packages: {
      language: declared.language ?? null,
      file: declared.file,
      format,
      options: declared.options,
      holdsFiles: declared.holds_files,
      isOff: declared.switch !== undefined && valueAt(config, declared.switch) === false,
      root: rootOf(config),
      required: assertFew([...read('default_packages'), ...read('requires')], leaf.id),
      isDeclared: config['requires'] !== undefined || leaf.filePaths.includes(declared.file),
    },
    usesRuntimeFiles: declared.builders.flat().some(({ run }) => run.some(namesRuntimeFiles)),
  }
}

/**
 * How packages are installed is for the runtime to say: a tool could name a place of its own to take them from. And so
 * is what is compiled, and started then: a tool would start it in place of the program that its runtime locks.
 */
function assertLeftToRuntime({ id, manifest: { tool_type: type, config } }: Item): void {
  if (type === 'runtime') return
  const { environment } = config
  const named = Object.keys(isObject(environment) ? environment : {}).find((key) => key !== 'timeout')
  const key =
    named === undefined
      ? ['compile_command', 'run_command'].find((name) => name in config)
      : `environment.${named}`
  if (key === undefined) return
  throw new KiwiError('INVALID_CONFIG', `Cannot run "${id}": "${key}" is for its runtime to say`, {
    hint: 'A tool may set environment.timeout; the rest belongs to a runtime of your own',
  })
}

/** `compile_command` and `run_command`: the program is made of the tool's own files. */
function planCompilation(
  runtime: EnvironmentPlan['runtime'],
  config: JsonObject,
  entrypoint: string | null,
): EnvironmentPlan {
  if (entrypoint === null) {
    throw new KiwiError('INVALID_CONFIG', `Cannot compile: the item has no file to start with`, {
      hint: 'Add the file to the item, and name it in config.entrypoint when there are several',
    })
  }
  const given = argumentsOf(config['compile_command'])
  const isPlaced = given.some((argument) => /\{(?:entrypoint|binary|tool_path|environment)\}/.test(argument))
  const { timeout } = isObject(config['environment']) ? config['environment'] : {}
  return {
    runtime,
    builders: [
      [{ say: 'compiling', run: isPlaced ? [...given] : [...given, '{entrypoint}', '-o', '{binary}'] }],
    ],
    env: {},
    timeoutMs: (typeof timeout === 'number' ? timeout : 600) * 1000,
    product: runArguments(config).some((argument) => argument.includes('{binary}')) ? BINARY : null,
    packages: null,
    usesRuntimeFiles: given.some(namesRuntimeFiles),
  }
}

function namesRuntimeFiles(argument: string): boolean {
  return argument.includes('{runtime_path}')
}

/** The name of what a compiler makes. */
export const BINARY = 'program'

function runArguments(config: JsonObject): readonly string[] {
  return argumentsOf(config['run_command'] ?? '{binary}')
}

/** `run_command` in the words of the primitive: a program and its arguments. `./{binary}` is what the seeds write. */
export function withRunCommand(config: JsonObject): JsonObject {
  if (config['compile_command'] === undefined) return config
  const [command = '', ...args] = runArguments(config).map((argument) =>
    argument.replace(/^\.\/(?=\{binary\})/, ''),
  )
  return { ...config, command, args: [...args, ...listOf(config['args'])] }
}

/** A list, or a text that is split at its blanks. No shell reads it. */
function argumentsOf(value: JsonValue | undefined): readonly string[] {
  return typeof value === 'string' ? value.split(/\s+/).filter((part) => part !== '') : listOf(value)
}

function listOf(value: JsonValue | undefined): readonly string[] {
  if (typeof value === 'string') return [value]
  return Array.isArray(value) ? value.map((item: JsonValue) => textOf(item)) : []
}

function readDeclared(value: JsonValue, tool: string): Declared {
  const parsed = Declared.safeParse(value, IN_WORDS)
  if (parsed.success) return parsed.data
  const invalid = fieldFaults(parsed.error.issues).map(({ name, reason }) => ({
    name: name === '' ? 'environment' : `environment.${name}`,
    reason,
  }))
  const faults = invalid.map(({ name, reason }) => `"${name}" ${reason}`).join('; ')
  throw new KiwiError('INVALID_CONFIG', `Cannot run "${tool}": ${faults}`, { details: { invalid } })
}

function rootOf(config: JsonObject): string | null {
  const root = valueAt(config, 'venv.cache_dir')
  return typeof root === 'string' ? root : null
}

function valueAt(config: JsonObject, path: string): unknown {
  return path.split('.').reduce<unknown>((value, key) => (isObject(value) ? value[key] : undefined), config)
}
