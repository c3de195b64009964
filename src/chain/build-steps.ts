import { join } from 'node:path'
import type { Command } from '../primitives/subprocess/command.ts'
import type { Environment } from '../config/environment.ts'
import { KiwiError } from '../shared/errors.ts'
import type { Values } from '../shared/template.ts'
import { compileTemplate, renderText } from '../shared/template.ts'
import type { EnvironmentPlan } from './environment-plan.ts'
import { BINARY } from './environment-plan.ts'
import type { PackageOptions } from './package-options.ts'

/** Where a build happens: never where the finished one will be found. */
interface BuildPlace extends BuildFiles {
  readonly folder: string
}

/** Where the files of the tool lie, and those of its runtime; null for none. */
export interface BuildFiles {
  readonly workFolder: string | null
  readonly runtimeFolder: string | null
}

interface BuildStep {
  readonly say: string
  readonly command: Omit<Command, 'timeoutMs'>
}

/** The way one environment is built here. */
export interface Builder {
  /** Found when it was chosen, and named by their whole paths: what is judged is what builds. */
  readonly programs: readonly string[]
  steps(place: BuildPlace): readonly BuildStep[]
}

/** What the words in a step stand for, beside the places. */
export interface BuildWords {
  readonly callId: string
  readonly entrypoint: string | null
  readonly interpreter: string | null
  readonly options: PackageOptions
  readonly packages: readonly string[]
  readonly childEnvironment: Environment
}

export type FindBuilderProgram = (program: string) => string | null

/** The first whose first program is found; every other program it names has to be there as well. */
export function chooseBuilder(
  planned: EnvironmentPlan,
  find: FindBuilderProgram,
  words: BuildWords,
  tool: string,
): Builder {
  const chosen = planned.builders.find(([first]) => find(first?.run[0] ?? '') !== null)
  if (chosen === undefined) throw programMissing(tool, firstPrograms(planned).join(' or '))
  const names = new Set(chosen.map(({ run: [name = ''] }) => name).filter((name) => !isMade(name)))
  const programs = new Map([...names].map((name) => [name, find(name)]))
  for (const [name, program] of programs) if (program === null) throw programMissing(tool, name)
  const pinned = (name: string): string => programs.get(name) ?? name
  return {
    programs: [...names].map(pinned),
    steps: (place) => renderSteps(chosen, pinned, place, { planned, words }),
  }
}

/** What a person would have to install. */
export function firstPrograms({ builders }: EnvironmentPlan): readonly string[] {
  return builders.flatMap(([first]) => first?.run[0] ?? []).filter((name) => name !== '{interpreter}')
}

/** A program that an earlier step put there. */
function isMade(program: string): boolean {
  return program.startsWith('{environment}/')
}

const WORDS = new Set(
  'interpreter environment requirements packages entrypoint tool_path runtime_path binary'.split(' '),
)

function renderSteps(
  steps: EnvironmentPlan['builders'][number],
  pinned: (name: string) => string,
  { folder, workFolder, runtimeFolder }: BuildPlace,
  { planned, words }: { planned: EnvironmentPlan; words: BuildWords },
): readonly BuildStep[] {
  const { packages, options, childEnvironment, entrypoint } = words
  const named: Readonly<Record<string, string>> = {
    interpreter: words.interpreter ?? '',
    environment: folder,
    requirements: join(folder, planned.packages?.file ?? ''),
    packages: packages.length === 1 ? '1 package' : `${packages.length} packages`,
    entrypoint: entrypoint === null || workFolder === null ? '' : join(workFolder, entrypoint),
    tool_path: workFolder ?? '',
    runtime_path: runtimeFolder ?? '',
    binary: join(folder, BINARY),
  }
  /** An argument that is nothing but one of these becomes as many as there are. */
  const lists: Readonly<Record<string, readonly string[]>> = {
    '{options}': options.arguments,
    '{packages}': packages,
  }
  const render = (text: string): string =>
    renderText(compileTemplate(text, WORDS), valuesOf(named, childEnvironment))
  return steps.map(({ say, run: [program = '', ...args] }) => ({
    say: render(say),
    command: {
      command: isMade(program) ? render(program) : pinned(program),
      args: args.flatMap((argument) => lists[argument] ?? [render(argument)]),
      // No grant reaches what a package runs while it is installed; and it may not start Kiwi either.
      env: {
        ...childEnvironment,
        ...renderVariables(planned, folder, childEnvironment),
        ...options.env,
        KIWI_CALL_ID: words.callId,
      },
      cwd: folder,
      input: null,
      killGraceMs: 2000,
      maxOutputBytes: 1024 * 1024,
      captureOutput: true,
    },
  }))
}

/** The variables that go with an environment, for its steps and for what runs with it. */
export function renderVariables(
  { env }: EnvironmentPlan,
  folder: string,
  childEnvironment: Environment,
): Readonly<Record<string, string>> {
  const values = valuesOf({ environment: folder }, childEnvironment)
  const words = new Set(['environment'])
  return Object.fromEntries(
    Object.entries(env).map(([name, text]) => [name, renderText(compileTemplate(text, words), values)]),
  )
}

function valuesOf(named: Readonly<Record<string, string>>, childEnvironment: Environment): Values {
  return { parameter: (name) => named[name], variable: ({ name }) => childEnvironment[name] ?? '' }
}

export function programMissing(tool: string, name: string): KiwiError {
  return new KiwiError('COMMAND_NOT_FOUND', `Cannot run "${tool}": "${name}" is not on the PATH`, {
    hint: `Install ${name}: what the tool needs cannot be made without it`,
    details: { command: name },
  })
}
