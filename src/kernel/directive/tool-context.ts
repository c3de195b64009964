import type { JsonObject } from '../../shared/json.ts'
import { isJsonObject } from '../../shared/json.ts'
import { nameIn } from '../../spaces/directive/dialect.ts'
import { decide } from '../policy/decide.ts'
import { checkCalls } from './check-calls.ts'
import { doneBy, excessOf } from './excess.ts'
import { groupParts, isGroup } from './group-parts.ts'
import { kiwiPart, scriptsPart } from './item-parts.ts'
import type { Scene } from './scene.ts'
import { leftOut, lowered } from './scene.ts'
import { serverParts } from './server-parts.ts'

/** Everything a directive may use, with what it takes to call it. */
export interface ToolContext {
  /** By group, server, `scripts` and `kiwi`. */
  readonly shown: JsonObject
  /** The same where that would be too large: of a large schema, how it is loaded. */
  readonly brief: JsonObject
  /** The schema of each tool, by the id that calls use. */
  readonly schemas: ReadonlyMap<string, JsonObject>
  readonly warnings: readonly string[]
}

export async function toolContext(scene: Scene): Promise<ToolContext> {
  const [servers, groups, scripts] = await Promise.all([
    serverParts(scene),
    groupParts(scene),
    scriptsPart(scene),
  ])
  const kiwi = kiwiPart(scene)
  const parts = [...groups, ...servers, ...[scripts, kiwi].filter((part) => part !== null)]
  const aliases = parts.flatMap(({ key, entry }) => {
    const { alias, available = false } = entry
    return typeof alias === 'string' ? [[alias, { available, alias_of: key }] as const] : []
  })
  const tools = parts.flatMap(({ entry }) => toolsIn(entry))
  const shown = Object.fromEntries([...parts.map(({ key, entry }) => [key, entry] as const), ...aliases])
  const warnings = [...beyond(scene), ...parts.flatMap((part) => part.warnings)]
  return {
    shown,
    brief: Object.fromEntries([...parts.map(({ key, entry }) => [key, briefly(entry)] as const), ...aliases]),
    schemas: new Map(tools.map((tool) => [nameOf(tool), schemaOf(tool)])),
    warnings: [...warnings, ...(await unusable(scene, shown, warnings))],
  }
}

/** What is wanted of ours and not granted; of other servers that is told when their tools are known. */
function beyond({ directive, granted, lookup, means }: Scene): readonly string[] {
  const { name, dialect, wanted } = directive
  const own = { ...wanted, servers: wanted.servers.filter(isGroup) }
  const context = { directive: name, dialect, projectPath: lookup.projectPath, home: means.home }
  return excessOf(own, granted, context).map((excess) =>
    leftOut(`"${excess.wanted}"`, `Add ${excess.required} to ${nameIn(dialect, 'permissions')}`),
  )
}

/** Calls that its own steps make and that would fail, as far as nothing was said of the tool yet. */
async function unusable(
  { directive, lookup, layers }: Scene,
  shown: JsonObject,
  warnings: readonly string[],
): Promise<readonly string[]> {
  const faults = await checkCalls(directive, {
    lookup,
    refusalOf(demand) {
      if (decide(layers, [demand], null).effect !== 'deny') return null
      // The line that helps is about what is done.
      const verdict = decide(layers, [demand, doneBy(demand)], null)
      return { ...verdict, remedy: lowered(verdict.remedy) }
    },
  })
  const isSaid = (tool: string): boolean => {
    const server = tool.split('.', 1).join('')
    const entry = shown[server]
    const isAway = isJsonObject(entry) && entry['available'] === false
    const named = [`"${tool}"`, `"${server}" has no tool "${tool.slice(server.length + 1)}"`]
    return isAway || warnings.some((warning) => named.some((one) => warning.includes(one)))
  }
  return faults.filter(({ tool }) => !isSaid(tool)).map(({ said }) => said)
}

function toolsIn({ tools }: JsonObject): readonly JsonObject[] {
  return Array.isArray(tools) ? tools.filter(isJsonObject) : []
}

function nameOf({ name }: JsonObject): string {
  return typeof name === 'string' ? name : ''
}

/** A list of parameters says the same as a schema. */
function schemaOf({ inputSchema, parameters }: JsonObject): JsonObject {
  if (isJsonObject(inputSchema)) return inputSchema
  const listed = Array.isArray(parameters) ? parameters.filter(isJsonObject) : []
  return { properties: Object.fromEntries(listed.map((parameter) => [nameOf(parameter), parameter])) }
}

/** Characters of a description or schema that still stand in a brief answer. */
const MOST_CHARACTERS = 400

function briefly(entry: JsonObject): JsonObject {
  const tools = toolsIn(entry).map((tool): JsonObject => {
    const { inputSchema, parameters, description, ...rest } = tool
    const schema = inputSchema === undefined ? { parameters } : { inputSchema }
    const isLarge = JSON.stringify(schema).length > MOST_CHARACTERS
    const name = nameOf(tool)
    return {
      ...rest,
      description: typeof description === 'string' ? description.slice(0, MOST_CHARACTERS) : '',
      ...(isLarge ? { load: { item_type: 'tool', item_id: name } } : withoutNothing(schema)),
    }
  })
  return { ...entry, ...(entry['tools'] === undefined ? {} : { tools }) }
}

function withoutNothing(object: Readonly<Record<string, unknown>>): JsonObject {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it is what is left of JSON
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as JsonObject
}
