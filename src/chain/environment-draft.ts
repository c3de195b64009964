import { realpathSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Command } from '../primitives/subprocess/command.ts'
import type { Config } from '../config/config.ts'
import type { Environment } from '../config/environment.ts'
import { KiwiError } from '../shared/errors.ts'
import { canonicalJson, sha256 } from '../shared/json.ts'
import type { Redact } from '../shared/redact.ts'
import type { Values } from '../shared/template.ts'
import { compileTemplate, renderText } from '../shared/template.ts'
import type { EnvironmentPlan } from './environment-plan.ts'
import { BINARY } from './environment-plan.ts'
import { optionArguments, redactOptions } from './package-options.ts'
import type { Plan } from './plan.ts'
import type { Requirement } from './requirements.ts'
import { requirementText, showRequirement } from './requirements.ts'

/** An environment of one call: where it lies, and how it is built when it does not. */
export interface EnvironmentDraft {
  readonly tool: string
  /** Named by everything it is made of; holds the environment and, while it is built, its lock. */
  readonly place: string
  /** The environment itself: a link to the folder that was built. */
  readonly folder: string
  /** What must be there for it to be ready. */
  readonly product: string
  readonly isReady: boolean
  readonly packages: readonly string[]
  /** Whether it is the tool's own program that is made. */
  readonly isCompiled: boolean
  readonly holdsFiles: boolean
  /** Variables for the program that runs with it. */
  readonly env: Readonly<Record<string, string>>
  /** The programs that build it, none when it is ready. */
  readonly programs: readonly string[]
  /** Written before the first step. */
  readonly files: readonly { readonly name: string; readonly text: string }[]
  readonly steps: (place: BuildPlace) => readonly BuildStep[]
  readonly timeoutMs: number
  readonly redact: Redact
}

/** Where a build happens: never where the finished one will be found. */
export interface BuildPlace {
  readonly folder: string
  readonly workFolder: string | null
}

interface BuildStep {
  readonly say: string
  readonly command: Omit<Command, 'timeoutMs'>
}

export interface EnvironmentMeans {
  readonly cache: string
  readonly childEnvironment: Environment
  readonly packages: Config['packages']
  readonly findProgram: (command: string, path: string) => string | null
}

/** What one call adds to what is planned. */
interface Circumstances {
  readonly callId: string
  readonly entrypoint: string | null
  /** The program that runs the tool without an environment; null when it is made first. */
  readonly interpreter: string | null
  readonly requirements: readonly Requirement[]
}

/** Works out which environment a call needs. Nothing is started: what builds it has to be judged first. */
export function draftEnvironment(
  { item }: Pick<Plan, 'item'>,
  planned: EnvironmentPlan,
  circumstances: Circumstances,
  means: EnvironmentMeans,
): EnvironmentDraft {
  const { packages } = planned
  const { interpreter, requirements } = circumstances
  const find = (program: string): string | null =>
    program === '{interpreter}'
      ? interpreter
      : means.findProgram(program, means.childEnvironment['PATH'] ?? '')
  const builder = planned.builders.find(([first]) => find(first?.run[0] ?? '') !== null)
  const options = packages === null ? [] : optionArguments(planned, means.packages)
  const maker = interpreter ?? find(builder?.[0]?.run[0] ?? '')
  if (maker === null) throw noBuilder(item.id, planned)
  const content = packages === null ? [item.contentHash] : requirements.map(showRequirement).toSorted()
  const key = sha256(
    canonicalJson({
      maker: identityOf(maker),
      platform: `${process.platform} ${process.arch}`,
      content,
      options,
      builders: planned.builders,
      env: planned.env,
    }),
  ).slice(0, 32)
  const place = join(rootOf(planned, means), planned.runtime.id, key)
  const folder = join(place, 'current')
  const product = join(folder, planned.product ?? '')
  const isReady = isThere(product)
  if (!isReady && builder === undefined) throw noBuilder(item.id, planned)
  const steps = builder ?? []
  return {
    tool: item.id,
    place,
    folder,
    product,
    isReady,
    packages: requirements.map(showRequirement),
    isCompiled: packages === null,
    holdsFiles: packages?.holdsFiles === true,
    env: renderVariables(planned, folder, means),
    programs: isReady ? [] : programsOf(steps, find, item.id),
    files:
      packages === null ? [] : [{ name: packages.file, text: requirementText(requirements, packages.format) }],
    steps: (at) => renderSteps(steps, at, { planned, circumstances, options, find, means }),
    timeoutMs: planned.timeoutMs,
    redact: redactOptions(planned, means.packages),
  }
}

/** Follows links: an environment whose interpreter is gone is none. */
export function isThere(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined
  } catch {
    return false
  }
}

/** A program that was replaced is another one, whatever it is called. */
function identityOf(program: string): string {
  try {
    const path = realpathSync(program)
    const { mtimeMs, size } = statSync(path)
    return `${path} ${mtimeMs} ${size}`
  } catch {
    return program
  }
}

/** `~/.cache/kiwi` is how a manifest writes the cache, wherever it is. */
function rootOf({ packages }: EnvironmentPlan, { cache, childEnvironment }: EnvironmentMeans): string {
  const given = packages?.root ?? null
  if (given === null) return join(cache, 'environments')
  const root = resolve(
    given.replace(/^~\/\.cache\/kiwi(?=\/|$)/, () => cache).replace(/^~(?=\/|$)/, () => childEnvironment['HOME'] ?? '~'),
  )
  if (root.startsWith(`${cache}/`)) return root
  throw new KiwiError('INVALID_CONFIG', `Cannot use "${given}" for environments: it is not in Kiwi's cache`, {
    hint: 'Remove venv.cache_dir from the config, or name a folder below ~/.cache/kiwi',
  })
}

type Find = (program: string) => string | null
type Steps = EnvironmentPlan['builders'][number]

function programsOf(steps: Steps, find: Find, tool: string): readonly string[] {
  const names = steps.map(({ run: [program = ''] }) => program).filter((program) => !isMade(program))
  return [...new Set(names)].map((name) => {
    const program = find(name)
    if (program === null) throw programMissing(tool, name)
    return program
  })
}

/** A program that an earlier step put there. */
function isMade(program: string): boolean {
  return program.startsWith('{environment}/')
}

const WORDS = new Set(
  'interpreter environment requirements packages entrypoint tool_path binary'.split(' '),
)

function renderSteps(
  steps: Steps,
  { folder, workFolder }: BuildPlace,
  given: {
    planned: EnvironmentPlan
    circumstances: Circumstances
    options: readonly string[]
    find: Find
    means: EnvironmentMeans
  },
): readonly BuildStep[] {
  const { planned, circumstances, options, find, means } = given
  const { requirements, interpreter, entrypoint, callId } = circumstances
  const count = requirements.length
  const words: Readonly<Record<string, string>> = {
    interpreter: interpreter ?? '',
    environment: folder,
    requirements: join(folder, planned.packages?.file ?? ''),
    packages: `${count} package${count === 1 ? '' : 's'}`,
    entrypoint: entrypoint === null || workFolder === null ? '' : join(workFolder, entrypoint),
    tool_path: workFolder ?? '',
    binary: join(folder, BINARY),
  }
  const values: Values = {
    parameter: (name) => words[name],
    variable: ({ name }) => means.childEnvironment[name] ?? '',
  }
  const render = (text: string): string => renderText(compileTemplate(text, WORDS), values)
  return steps.map(({ say, run: [program = '', ...args] }) => ({
    say: render(say),
    command: {
      command: isMade(program) ? render(program) : (find(program) ?? program),
      args: args.flatMap((argument) => (argument === '{options}' ? options : [render(argument)])),
      // No grant reaches what a package runs while it is installed; and it may not start Kiwi either.
      env: { ...means.childEnvironment, ...renderVariables(planned, folder, means), KIWI_CALL_ID: callId },
      cwd: folder,
      input: null,
      killGraceMs: 2000,
      maxOutputBytes: 1024 * 1024,
      captureOutput: true,
    },
  }))
}

function renderVariables(
  { env }: EnvironmentPlan,
  folder: string,
  { childEnvironment }: EnvironmentMeans,
): Readonly<Record<string, string>> {
  const values: Values = {
    parameter: () => folder,
    variable: ({ name }) => childEnvironment[name] ?? '',
  }
  const words = new Set(['environment'])
  return Object.fromEntries(
    Object.entries(env).map(([name, text]) => [name, renderText(compileTemplate(text, words), values)]),
  )
}

function noBuilder(tool: string, { builders }: EnvironmentPlan): KiwiError {
  const names = builders.flatMap(([first]) => first?.run[0] ?? []).filter((name) => name !== '{interpreter}')
  return programMissing(tool, names.join(' or '))
}

function programMissing(tool: string, name: string): KiwiError {
  return new KiwiError('COMMAND_NOT_FOUND', `Cannot run "${tool}": "${name}" is not on the PATH`, {
    hint: `Install ${name}: the packages or the program of the tool cannot be made without it`,
    details: { command: name },
  })
}
