import type { Command } from '../primitives/subprocess/command.ts'
import type { Environment } from '../config/environment.ts'
import { childEnvironment } from '../config/environment.ts'
import type { JsonObject } from '../shared/json.ts'
import type { Template, Values } from '../shared/template.ts'
import { renderSegment, renderText } from '../shared/template.ts'
import type { CommandTemplate } from './command-template.ts'
import { assertNoOption, parameterArguments, parameterEnvironment } from './parameters.ts'
import type { Variables } from './variables.ts'

/** What one call adds to its plan. */
export interface Circumstances {
  readonly parameters: JsonObject
  readonly variables: Variables
  readonly environment: Environment
  readonly projectPath: string | null
  readonly callId: string
  /** Where the item's files lie for this run; null when it has none. */
  readonly workFolder: string | null
}

/** A call as a program with its arguments, its whole environment and its input. */
export function renderCommand(template: CommandTemplate, circumstances: Circumstances): Command {
  const { parameters, variables, environment, projectPath, callId, workFolder } = circumstances
  const json = JSON.stringify(parameters)
  const words: JsonObject = {
    ...parameters,
    ...template.words,
    entrypoint_name: template.entrypoint ?? '',
    entrypoint:
      template.entrypoint === null || workFolder === null ? '' : `${workFolder}/${template.entrypoint}`,
    tool_path: workFolder ?? '',
    project_path: projectPath ?? '',
    params_json: json,
  }
  const values: Values = {
    parameter: (name) => (Object.hasOwn(words, name) ? words[name] : undefined),
    variable: variables.optional,
  }
  const render = (text: Template): string => renderText(text, values)
  return {
    command: render(template.command),
    args: [
      ...renderArguments(template.args, values, parameters),
      ...parameterArguments(template, parameters),
    ],
    env: {
      ...(template.inheritEnv ? environment : childEnvironment(environment)),
      ...(projectPath === null ? {} : { KIWI_PROJECT_PATH: projectPath }),
      ...Object.fromEntries(template.env.map(([name, value]) => [name, render(value)])),
      ...parameterEnvironment(parameters),
      KIWI_CALL_ID: callId,
    },
    cwd:
      template.cwd === null
        ? (workFolder ?? projectPath ?? environment['HOME'] ?? '/')
        : render(template.cwd),
    input: template.input === null ? json : render(template.input),
    timeoutMs: template.timeoutMs,
    killGraceMs: template.killGraceMs,
    maxOutputBytes: template.maxOutputBytes,
    captureOutput: template.captureOutput,
  }
}

/** An argument that begins with a parameter may not turn into an option, unless `--` stands before it. */
function renderArguments(
  args: readonly Template[],
  values: Values,
  parameters: JsonObject,
): readonly string[] {
  let isAfterDashes = false
  return args.map((template) => {
    const text = renderText(template, values)
    const lead = template.segments.find((segment) => renderSegment(segment, values) !== '')
    if (lead?.kind === 'parameter' && !isAfterDashes && typeof parameters[lead.name] === 'string') {
      assertNoOption(lead.name, text)
    }
    if (template.source === '--') isAfterDashes = true
    return text
  })
}
