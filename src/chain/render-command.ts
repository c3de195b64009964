import type { Command } from '../primitives/subprocess/command.ts'
import type { Environment } from '../config/environment.ts'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import type { Template, Values } from '../shared/template.ts'
import { renderSegment, renderText } from '../shared/template.ts'
import type { CommandTemplate } from './command-template.ts'
import { BINARY } from './environment-plan.ts'
import { parameterArguments } from './parameter-arguments.ts'
import { assertNoOption, isOption, parameterEnvironment } from './parameters.ts'
import type { Place } from './secret-places.ts'
import type { Variables } from './variables.ts'

/** What one call adds to its plan. */
export interface Circumstances {
  readonly parameters: JsonObject
  readonly variables: Variables
  /** What every child starts from. */
  readonly childEnvironment: Environment
  readonly projectPath: string | null
  readonly callId: string
  /** Where the item's files lie for this run; null when it has none. */
  readonly workFolder: string | null
  /** Where the files of its runtime lie; null when they are not needed. */
  readonly runtimeFolder: string | null
  /** Where what was built for it lies; null when nothing was. */
  readonly built: string | null
  readonly cache: string
}

/** A call as a program with its arguments, its whole environment and its input. */
export function renderCommand(template: CommandTemplate, circumstances: Circumstances): Command {
  const { parameters, variables, childEnvironment, projectPath, callId, workFolder, built } = circumstances
  const json = JSON.stringify(parameters)
  const fixed: JsonObject = {
    ...template.words,
    entrypoint_name: template.entrypoint ?? '',
    entrypoint:
      template.entrypoint === null || workFolder === null ? '' : `${workFolder}/${template.entrypoint}`,
    tool_path: workFolder ?? '',
    runtime_path: circumstances.runtimeFolder ?? '',
    project_path: projectPath ?? '',
    params_json: json,
    kiwi_cache: circumstances.cache,
    ...(built === null ? {} : { environment: built, binary: `${built}/${BINARY}` }),
  }
  const valuesAt = (place: Place): Values => ({
    parameter: (name) => [fixed, parameters].find((words) => Object.hasOwn(words, name))?.[name],
    variable: (segment) => variables.optional(segment, place),
  })
  const render = (text: Template, place: Place): string => renderText(text, valuesAt(place))
  return {
    command: render(template.command, 'arguments'),
    args: [
      ...renderArguments(template.args, valuesAt('arguments'), fixed),
      ...parameterArguments(template, parameters, projectPath),
    ],
    env: {
      ...(template.inheritEnv ? variables.all() : childEnvironment),
      ...(projectPath === null ? {} : { KIWI_PROJECT_PATH: projectPath }),
      ...Object.fromEntries(
        template.env
          .filter(([, value]) => isGiven(value, valuesAt('arguments')))
          .map(([name, value]) => [name, render(value, `env:${name}`)]),
      ),
      ...parameterEnvironment(parameters),
      KIWI_CALL_ID: callId,
    },
    cwd:
      template.cwd === null
        ? (workFolder ?? projectPath ?? childEnvironment['HOME'] ?? '/')
        : render(template.cwd, 'folder'),
    input: template.input === null ? json : render(template.input, 'input'),
    timeoutMs: template.timeoutMs,
    killGraceMs: template.killGraceMs,
    maxOutputBytes: template.maxOutputBytes,
    captureOutput: template.captureOutput,
  }
}

/** A variable that is nothing but a parameter nobody gave is not set: empty would be another thing. */
function isGiven({ segments }: Template, values: Values): boolean {
  const [only, ...more] = segments
  return only?.kind !== 'parameter' || more.length > 0 || values.parameter(only.name) !== undefined
}

/**
 * An argument that begins with a parameter may not turn into an option, unless `--` stands before it; nor one that
 * begins with a word of the config, since a script's own config would then open the arguments its runtime locks.
 */
function renderArguments(args: readonly Template[], values: Values, fixed: JsonObject): readonly string[] {
  let isAfterDashes = false
  return args.map((template) => {
    const text = renderText(template, values)
    const lead = template.segments.find((segment) => renderSegment(segment, values) !== '')
    if (lead?.kind === 'parameter' && !isAfterDashes && typeof values.parameter(lead.name) === 'string') {
      if (Object.hasOwn(fixed, lead.name)) assertNoOptionInConfig(lead.name, text)
      else assertNoOption(lead.name, text)
    }
    if (template.source === '--') isAfterDashes = true
    return text
  })
}

function assertNoOptionInConfig(name: string, text: string): void {
  if (!isOption(text)) return
  throw new KiwiError(
    'INVALID_CONFIG',
    `Cannot pass "${name}" of the config: a value that starts with "-" would be read as an option`,
  )
}
