import { existsSync } from 'node:fs'
import type { Command } from '../primitives/subprocess/command.ts'
import { candidates } from '../primitives/subprocess/find-program.ts'
import type { HttpRequest } from '../primitives/http/request.ts'
import type { Grant } from '../config/config.ts'
import type { Environment } from '../config/environment.ts'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { isObject } from '../shared/json.ts'
import type { Redact } from '../shared/redact.ts'
import { createRedact, keepAll } from '../shared/redact.ts'
import { textOf } from '../shared/template.ts'
import { checkParameters } from './parameters.ts'
import type { Plan } from './plan.ts'
import type { Circumstances } from './render-command.ts'
import { renderCommand } from './render-command.ts'
import { renderRequest } from './render-request.ts'
import { openVariables } from './variables.ts'

/** One call of a plan, worked out to the last argument but not yet made: what is judged is what will run. */
export interface Draft {
  readonly plan: Plan
  readonly parameters: JsonObject
  readonly effect: DraftEffect
  readonly redact: Redact
  readonly warnings: readonly string[]
}

type DraftEffect =
  | {
      readonly kind: 'subprocess'
      readonly command: Command
      /** The same command with its files, and those of its runtime, in these folders. */
      readonly inFolders: (folders: Folders) => Command
    }
  | { readonly kind: 'http_client'; readonly request: HttpRequest }
  | { readonly kind: 'content' }

export interface DraftMeans {
  readonly environment: Environment
  /** The part of it that every child starts from. */
  readonly childEnvironment: Environment
  readonly grants: readonly Grant[]
  readonly findProgram: (command: string, path: string) => string | null
  readonly folders: Folders
}

/** Where the files lie that a run needs; null when it needs none. */
type Folders = Pick<Circumstances, 'workFolder' | 'runtimeFolder'>

/** Who asks, from where, with what. */
export interface Request {
  readonly callId: string
  readonly parameters: JsonObject
  readonly projectPath: string | null
}

export function draftCall(plan: Plan, request: Request, means: DraftMeans): Draft {
  if (plan.effect.kind === 'none') throw notRunnable(plan)
  assertSandbox(plan)
  const parameters = checkParameters(plan, request.parameters)
  const variables = openVariables(plan, { ...means, projectPath: request.projectPath })
  const base = { plan, parameters }
  switch (plan.effect.kind) {
    case 'content':
      return { ...base, effect: { kind: 'content' }, redact: keepAll, warnings: [] }
    case 'subprocess': {
      const template = plan.effect.command
      const { folders } = means
      const render = (at: Folders): Command =>
        renderCommand(template, { ...means, ...request, parameters, variables, ...at })
      const rendered = render(folders)
      const redact = createRedact(variables.secrets)
      const command = { ...rendered, command: findProgram(rendered.command, means, redact) }
      const isExpected = (at: Folders): boolean =>
        at.workFolder === folders.workFolder && at.runtimeFolder === folders.runtimeFolder
      const inFolders = (at: Folders): Command =>
        isExpected(at) ? command : { ...render(at), command: command.command }
      return { ...base, effect: { kind: 'subprocess', command, inFolders }, redact, warnings: [] }
    }
    case 'http_client': {
      const isIdempotent = plan.isRepeatable ? true : (plan.item.manifest.idempotent ?? null)
      const { request: rendered, warnings } = renderRequest(
        plan.effect.request,
        parameters,
        variables,
        isIdempotent,
      )
      return {
        ...base,
        effect: { kind: 'http_client', request: rendered },
        redact: createRedact(variables.secrets),
        warnings,
      }
    }
  }
}

function notRunnable({ item }: Plan): KiwiError {
  const type = item.manifest.tool_type
  const hint =
    type === 'primitive' || type === 'runtime'
      ? `Create a tool whose executor is "${item.id}" and run that`
      : `A ${type} can be searched and loaded, not run`
  return new KiwiError('UNKNOWN_ACTION', `Cannot run "${item.id}": a ${type} is not run by itself`, { hint })
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

/** No sandbox is built yet: what requires one is refused rather than run bare. */
function assertSandbox({ item, items }: Plan): void {
  const strict = items.find(({ manifest: { sandbox, config } }) =>
    [sandbox, config['sandbox']].some((wanted) => isObject(wanted) && wanted['required'] === true),
  )
  if (strict === undefined) return
  throw new KiwiError(
    'SANDBOX_UNAVAILABLE',
    `Cannot run "${item.id}": "${strict.id}" requires a sandbox, and there is none here`,
  )
}
