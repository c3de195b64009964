import { serverName } from '../../shared/groups.ts'
import type { JsonObject } from '../../shared/json.ts'
import { isJsonObject } from '../../shared/json.ts'
import { textOf } from '../../shared/template.ts'
import type { Directive } from '../../spaces/directive/model.ts'
import { fillPlaceholders, fillValue } from '../../spaces/directive/placeholders.ts'
import type { Item } from '../../spaces/item.ts'
import type { ToolContext } from './tool-context.ts'
import { shownProcess } from './shown-process.ts'

/** A directive that is about to be begun, as far as its author and caller made it. */
export interface Handed {
  readonly item: Item
  readonly directive: Directive
  readonly inputs: JsonObject
  readonly aliases: Readonly<Record<string, string>>
  readonly permissions: JsonObject
  /** What is granted without being named: nobody is told of each tool that fits. */
  readonly byPattern: readonly string[]
  readonly warnings: readonly string[]
}

/** What an agent is handed: what to do, with what, and how each call is made. */
export function readyAnswer(handed: Handed, context: ToolContext): JsonObject {
  const { directive, inputs, aliases, item } = handed
  const { name, version, description, more } = directive
  const declared = directive.inputs.map((input) => input.name)
  const process = shownProcess(directive, { inputs, declared, schemas: context.schemas, aliases })
  return {
    directive: {
      name,
      version,
      description,
      // What was not given is said, as nothing is left of its placeholders.
      inputs: { ...Object.fromEntries(declared.map((one) => [one, null])), ...inputs },
      process,
      ...textOfSteps(directive, inputs, declared),
      ...(Object.keys(more).length === 0 ? {} : { more: fillValue(more, inputs, declared) }),
      ...filesOf(item),
    },
    tool_context: context.shown,
    ...mcpContext(directive, context),
    permissions: handed.permissions,
    instructions: instructionsFor(handed),
    warnings: bounded([...handed.warnings, ...context.warnings]),
  }
}

/** What stands beside the steps; without any it is the one step. */
function textOfSteps(
  { steps, body }: Directive,
  inputs: JsonObject,
  declared: readonly string[],
): JsonObject {
  const text = steps.length === 0 ? '' : fillPlaceholders(body, inputs, declared).trim()
  return text === '' ? {} : { text }
}

/** What was asked for in `<mcps>`, by the name that such directives have for it; schemas stand in `tool_context` alone. */
function mcpContext({ wanted }: Directive, { shown }: ToolContext): JsonObject {
  const named = wanted.servers.filter(({ isOfMcps }) => isOfMcps === true)
  if (named.length === 0) return {}
  const entries = named.map(({ name }): [string, JsonObject] => {
    const entry = shown[serverName(name)]
    const { available = false, tools = [], error } = isJsonObject(entry) ? entry : {}
    const names = Array.isArray(tools) ? tools.filter(isJsonObject).flatMap((tool) => tool['name'] ?? []) : []
    return [serverName(name), { available, tools: names, ...(error === undefined ? {} : { error }) }]
  })
  return { mcp_context: Object.fromEntries(entries) }
}

/** Written for a model. */
function instructionsFor({ byPattern, directive: { steps, body } }: Handed): string {
  const tools =
    byPattern.length === 0
      ? 'tool_context holds every tool you may use, with what it takes: no search or load is needed. What is not in it is refused, and the refusal says why.'
      : `tool_context holds the tools that are named, with what they take. You may also use what fits ${byPattern.join(', ')}: find it with search. Anything else is refused, and the refusal says why.`
  const beside = steps.length > 0 && body.trim() !== '' ? ` ${TEXT}` : ''
  return `${INSTRUCTIONS}${beside} ${tools} ${AT_THE_END}`
}

const INSTRUCTIONS =
  'Follow directive.process step by step; judge each condition yourself. Make every call with execute as call_format.example shows: the run_id must be in it. Only search, load, help and execute themselves are sent as they are: call_format.own. An input that is null was not given.'
const TEXT = 'What directive.text says holds for all steps.'
const AT_THE_END = 'When you are done, or cannot go on, send finish.'

/** Of an answer that even without large schemas was too large, what to do first. */
export function sayIfLeftOut(answer: JsonObject): JsonObject {
  const { directive, instructions } = answer
  if (directive !== null) return answer
  return { ...answer, instructions: `${READ_FIRST} ${textOf(instructions)}` }
}

const READ_FIRST =
  'The directive is too large for one answer, so that directive is null here: first read the whole answer with rest, page by page up to next_offset null.'

/** How a call of the run is made, and how the run is ended. */
export function howToCall(runId: string, projectPath: string | null): JsonObject {
  const more = projectPath === null ? {} : { project_path: projectPath }
  return {
    call_format: {
      description:
        'All tools are called with execute; item_id is the tool of a call, or a name of tool_context',
      example: {
        item_type: 'tool',
        action: 'run',
        item_id: '<tool>',
        parameters: {},
        run_id: runId,
        ...more,
      },
      own: 'search, load, help and execute are tools of Kiwi itself: parameters are their arguments, and execute takes the run_id as well',
    },
    finish: { item_type: 'directive', action: 'finish', item_id: runId },
  }
}

/** What lies beside its text, as a skill has it. */
function filesOf({ id, filePaths, raw }: Item): JsonObject {
  const beside = filePaths.filter((path) => path !== raw['_file'] && path !== 'directive.md')
  if (beside.length === 0) return {}
  return { files: { paths: beside, load: { item_type: 'directive', item_id: id, path: '<path>' } } }
}

const MOST_WARNINGS = 50

function bounded(warnings: readonly string[]): readonly string[] {
  const distinct = [...new Set(warnings)]
  const more = distinct.length - MOST_WARNINGS
  return more > 0 ? [...distinct.slice(0, MOST_WARNINGS), `${more} more`] : distinct
}
