import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from '../primitives/subprocess/command.ts'
import { candidates } from '../primitives/subprocess/find-program.ts'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import type { Redact } from '../shared/redact.ts'
import { createRedact } from '../shared/redact.ts'
import { textOf } from '../shared/template.ts'
import type { DraftMeans, Request } from './draft-means.ts'
import type { EnvironmentDraft } from './environment-draft.ts'
import { draftEnvironment } from './environment-draft.ts'
import { libraryPath } from './library.ts'
import type { Effect, Plan } from './plan.ts'
import { renderCommand } from './render-command.ts'
import { showRequirement } from './requirements.ts'
import type { Variables } from './variables.ts'
import type { Bundle } from './work-folder.ts'

/** A program to start, and what has to be on disk before. */
export interface CommandDraft {
  readonly kind: 'subprocess'
  readonly command: Command
  /** The same command with its files and its space's library in other folders. */
  readonly inFolder: (folder: string | null, library?: string | null) => Command
  /** What has to be built first; null when the program is there. */
  readonly environment: EnvironmentDraft | null
  /** Where the tool's files lie; left out for the usual place. */
  readonly workRoot: string | undefined
  readonly library: Bundle | null
}

interface Circumstances {
  readonly request: Request
  readonly parameters: JsonObject
  readonly variables: Variables
}

export function draftCommand(
  plan: Plan & { readonly effect: Extract<Effect, { kind: 'subprocess' }> },
  { request, parameters, variables }: Circumstances,
  means: DraftMeans,
): { effect: CommandDraft; redact: Redact; warnings: readonly string[] } {
  const { command: template, environment: planned } = plan.effect
  const { library, requirements } = means
  const render = (
    workFolder: string | null,
    environment: EnvironmentDraft | null,
    libraryFolder: string | null,
  ): Command => {
    const built = environment?.folder ?? null
    const circumstances = { ...means, ...request, parameters, variables, workFolder, built }
    const bare = renderCommand(template, circumstances)
    const command = environment === null ? bare : { ...bare, env: { ...bare.env, ...environment.env } }
    return library === null || libraryFolder === null
      ? command
      : withPath(command, library.variable, libraryFolder)
  }
  const find = (command: string): string => findProgram(command, means, createRedact(variables.secrets))
  const isOff = planned?.packages?.isOff === true && requirements.length > 0
  const needsPackages = planned?.packages !== undefined && !isOff && requirements.length > 0
  const isMade = planned !== null && (planned.packages === null || needsPackages)
  const interpreter = needsPackages ? find(render(null, null, null).command) : null
  const environment = isMade
    ? draftEnvironment(
        plan,
        planned,
        { callId: request.callId, entrypoint: template.entrypoint, interpreter, requirements },
        means,
      )
    : null
  const workRoot = environment?.holdsFiles === true ? join(environment.folder, 'work') : undefined
  const workFolder = plan.hasFiles ? means.place(plan.item, workRoot) : null
  const libraryFolder = library === null ? null : means.place(library.bundle)
  const rendered = render(workFolder, environment, libraryFolder)
  const program = programOf(rendered.command, environment, { interpreter, find, product: planned?.product })
  const command = { ...rendered, command: program }
  const inFolder: CommandDraft['inFolder'] = (folder, at = libraryFolder) =>
    folder === workFolder && at === libraryFolder
      ? command
      : { ...render(folder, environment, at), command: program }
  return {
    effect: {
      kind: 'subprocess',
      command,
      inFolder,
      environment,
      workRoot,
      library: library?.bundle ?? null,
    },
    redact: createRedact(variables.secrets),
    warnings: isOff ? [notInstalled(requirements.map(showRequirement))] : [],
  }
}

function notInstalled(packages: readonly string[]): string {
  return `packages are switched off in the config, so these have to be there already: ${packages.join(', ')}`
}

interface ProgramMeans {
  readonly interpreter: string | null
  readonly find: (command: string) => string
  readonly product: string | null | undefined
}

/** What an environment brings along is not there before it is built, so it is not looked for. */
function programOf(
  command: string,
  environment: EnvironmentDraft | null,
  { interpreter, find, product }: ProgramMeans,
): string {
  if (environment === null) return find(command)
  if (environment.isCompiled) return command.startsWith(`${environment.folder}/`) ? command : find(command)
  return typeof product === 'string' ? environment.product : (interpreter ?? find(command))
}

function withPath(command: Command, variable: string, folder: string): Command {
  const own = command.env[variable] ?? ''
  const path = own === '' ? libraryPath(folder) : `${own}:${libraryPath(folder)}`
  return { ...command, env: { ...command.env, [variable]: path } }
}

/**
 * The program is looked for once and named by its whole path, so that what was judged is what starts. A PATH that
 * the child is given does not count: with it a script would choose the program that its runtime locks.
 */
function findProgram(command: string, means: DraftMeans, redact: Redact): string {
  const path = means.environment['PATH'] ?? ''
  const found = means.findProgram(command, path)
  if (found !== null) return found
  const name = textOf(redact(command))
  const details = { command: name }
  if (candidates(command, path).some((file) => existsSync(file))) {
    throw new KiwiError('COMMAND_NOT_EXECUTABLE', `Cannot run "${name}": it may not be executed`, { details })
  }
  throw new KiwiError('COMMAND_NOT_FOUND', `Cannot run "${name}": it is not on the PATH`, {
    hint: `Install ${name}, or correct config.command of the runtime`,
    details,
  })
}
