import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Command } from '../primitives/subprocess/command.ts'
import { candidates } from '../primitives/subprocess/find-program.ts'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import type { Redact } from '../shared/redact.ts'
import { createRedact } from '../shared/redact.ts'
import { textOf } from '../shared/template.ts'
import type { Item } from '../spaces/item.ts'
import type { DraftMeans, Request } from './draft-means.ts'
import type { EnvironmentDraft } from './environment-draft.ts'
import { draftEnvironment } from './environment-draft.ts'
import type { Bundle } from './files-as-read.ts'
import type { Hold } from './hold.ts'
import { libraryPath } from './library.ts'
import type { Effect, Plan } from './plan.ts'
import { renderCommand } from './render-command.ts'
import { showRequirement } from './requirements.ts'
import { gitSubcommands } from './shell/git-subcommands.ts'
import { guarded } from './shell/guarded.ts'
import { judgeArgv } from './shell/judge-argv.ts'
import type { PlacedPath } from './shell/place-argv.ts'
import { placeArgv } from './shell/place-argv.ts'
import { familyOf, policiesOf } from './shell/program-family.ts'
import { unavailable } from './shell/unavailable.ts'
import type { Variables } from './variables.ts'

/** A program to start, and what has to be on disk before. */
export interface CommandDraft {
  readonly kind: 'subprocess'
  readonly command: Command
  /** The same command with the files it needs in these folders. */
  readonly inFolders: (folders: Folders) => Command
  /** What has to be built first; null when the program is there. */
  readonly environment: EnvironmentDraft | null
  /** Where the tool's files lie; left out for the usual place. */
  readonly workRoot: string | undefined
  readonly library: Bundle | null
  /** The runtime, when files of its own are among the arguments, of the program or of what builds for it. */
  readonly runtime: Bundle | null
  /** Its arguments without those that data puts in. */
  readonly given: readonly string[]
  /** What it asks of git. */
  readonly git: readonly string[]
  /** What it would read and write, where that is known of the program. */
  readonly paths: readonly PlacedPath[]
}

/** Where the files of the tool lie, those of its runtime, and the library of its space; null for none. */
interface Folders {
  readonly workFolder: string | null
  readonly runtimeFolder: string | null
  readonly libraryFolder: string | null
}

interface Circumstances {
  readonly request: Request
  readonly parameters: JsonObject
  readonly variables: Variables
}

export function draftCommand(
  plan: CommandPlan,
  given: Circumstances,
  means: DraftMeans,
  hold: Hold | null,
): Drafted {
  const { library } = means
  const { packages } = plan.effect.environment ?? {}
  const isOff = packages?.isOff === true && means.requirements.length > 0
  const find = (command: string): string => findProgram(command, means, createRedact(given.variables.secrets))
  const { environment, interpreter } = isOff
    ? { environment: null, interpreter: null }
    : environmentOf(plan, given, means, find)
  const workRoot = environment?.holdsFiles === true ? join(environment.folder, 'work') : undefined
  const workFolder = plan.hasFiles ? means.place(plan.item, workRoot) : null
  const runtime = runtimeOf(plan)
  const expected: Folders = {
    workFolder,
    runtimeFolder: runtime === null ? null : means.place(runtime),
    libraryFolder: library === null ? null : means.place(library.bundle),
  }
  const render = ({ libraryFolder: at, ...folders }: Folders): Command => {
    const command = renderWith(plan, environment, folders, { means, ...given })
    return library === null || at === null ? command : withPath(command, library.variable, at)
  }
  const isExpected = (at: Folders): boolean =>
    at.workFolder === expected.workFolder &&
    at.runtimeFolder === expected.runtimeFolder &&
    at.libraryFolder === expected.libraryFolder
  const rendered = render(expected)
  const program = programOf(rendered.command, environment, interpreter, find)
  const withProgram = (made: Command): Policed =>
    policed(plan, { ...made, command: program }, given.request.projectPath, means.argv)
  const { command, paths } = withProgram(rendered)
  const held = (bare: Command, at: Folders): Command =>
    hold === null ? bare : hold.confine(bare, foldersIn(at, environment))
  return {
    effect: {
      kind: 'subprocess',
      command,
      inFolders: (at) => held(isExpected(at) ? command : withProgram(render(at)).command, at),
      environment,
      workRoot,
      library: library?.bundle ?? null,
      runtime,
      given: rendered.args,
      git: gitSubcommands(program, [program, ...rendered.args], means.argv.policies),
      paths,
    },
    redact: createRedact(given.variables.secrets),
    warnings: [
      ...notInstalled(plan, isOff ? means.requirements.map(showRequirement) : []),
      ...(hold?.warnings ?? []),
    ],
  }
}

function foldersIn(at: Folders, environment: EnvironmentDraft | null): readonly string[] {
  const folders = [at.workFolder, at.runtimeFolder, at.libraryFolder, environment?.place ?? null]
  return folders.filter((folder) => folder !== null)
}

interface Policed {
  readonly command: Command
  readonly paths: readonly PlacedPath[]
}

/** What the parameters of a tool made of its arguments has to suit what is known of the program. */
function policed(
  { item, effect }: CommandPlan,
  command: Command,
  projectPath: string | null,
  { policies, broken }: DraftMeans['argv'],
): Policed {
  if (!effect.command.hasArgvPolicy) return { command, paths: [] }
  const name = basename(command.command)
  const judged = judgeArgv(policiesOf(policies, name), [name, ...command.args])
  const wrong = broken.get(name) ?? broken.get(familyOf(name))
  if (wrong !== undefined) throw unavailable(name, wrong)
  const { fault, paths, env } = placeArgv(judged, command.cwd, projectPath)
  if (fault === null) {
    const placed = { ...command, env: { ...command.env, ...env } }
    return { command: { ...placed, ...guarded(placed, judged) }, paths }
  }
  throw new KiwiError('INVALID_PARAMETERS', `Cannot run "${item.id}": ${fault.reason}`, {
    hint: fault.remedy,
    details: { missing: [], invalid: [] },
  })
}

interface Drafted {
  readonly effect: CommandDraft
  readonly redact: Redact
  readonly warnings: readonly string[]
}

type CommandPlan = Plan & { readonly effect: Extract<Effect, { kind: 'subprocess' }> }

function runtimeOf({ effect: { command, environment }, items }: CommandPlan): Item | null {
  const isUsed = command.usesRuntimeFiles || environment?.usesRuntimeFiles === true
  return isUsed ? (items[1] ?? null) : null
}

/** None when the program needs nothing: no packages, and no compiler. */
function environmentOf(
  plan: CommandPlan,
  given: Circumstances,
  means: DraftMeans,
  find: (command: string) => string,
): { environment: EnvironmentDraft | null; interpreter: string | null } {
  const { item, effect } = plan
  const { environment: planned, command: template } = effect
  const { requirements } = means
  if (planned === null || (planned.packages !== null && requirements.length === 0))
    return { environment: null, interpreter: null }
  const interpreter =
    planned.packages === null ? null : find(renderWith(plan, null, NO_FOLDERS, { ...given, means }).command)
  const circumstances = {
    item,
    requirements,
    interpreter,
    entrypoint: template.entrypoint,
    callId: given.request.callId,
    runtimeHash: planned.usesRuntimeFiles ? (plan.items[1]?.contentHash ?? null) : null,
  }
  return { environment: draftEnvironment(planned, circumstances, means), interpreter }
}

const NO_FOLDERS = { workFolder: null, runtimeFolder: null }

function renderWith(
  { effect }: CommandPlan,
  environment: EnvironmentDraft | null,
  folders: Omit<Folders, 'libraryFolder'>,
  { request, parameters, variables, means }: Circumstances & { readonly means: DraftMeans },
): Command {
  const command = renderCommand(effect.command, {
    parameters,
    variables,
    childEnvironment: means.childEnvironment,
    projectPath: request.projectPath,
    callId: request.callId,
    built: environment?.folder ?? null,
    cache: means.cache,
    ...folders,
  })
  return environment === null ? command : { ...command, env: { ...command.env, ...environment.env } }
}

/** Packages that a manifest asks for and nobody installs: said, rather than left to be found out. */
function notInstalled({ config, effect }: CommandPlan, switchedOff: readonly string[]): readonly string[] {
  if (switchedOff.length > 0)
    return [`packages are switched off, so these have to be there already: ${switchedOff.join(', ')}`]
  const { requires } = config
  const isIgnored = effect.environment === null && Array.isArray(requires) && requires.length > 0
  return isIgnored
    ? ['its runtime installs no packages: those under "requires" have to be there already']
    : []
}

/** What an environment brings along is not there before it is built, so it is not looked for. */
function programOf(
  command: string,
  environment: EnvironmentDraft | null,
  interpreter: string | null,
  find: (command: string) => string,
): string {
  if (environment === null) return find(command)
  const { isCompiled, folder, product } = environment
  if (isCompiled) return command.startsWith(`${folder}/`) ? command : find(command)
  return product === folder ? (interpreter ?? find(command)) : product
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
export function findProgram(command: string, means: DraftMeans, redact: Redact): string {
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
