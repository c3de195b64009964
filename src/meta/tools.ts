import type { MetaTool } from './arguments.ts'

/** One of the four tools as a client lists it. */
export interface MetaToolDefinition {
  readonly name: MetaTool
  readonly description: string
  readonly inputSchema: { readonly type: 'object'; readonly [key: string]: unknown }
  readonly annotations: Readonly<Record<string, boolean>>
}

const string = { type: 'string' } as const
const itemType = { enum: ['tool', 'directive', 'knowledge', 'mcp'] } as const
const READS = { readOnlyHint: true } as const

/** Written for a model, and short: all four together stay under 2,560 bytes. */
export const TOOLS: readonly MetaToolDefinition[] = [
  {
    name: 'search',
    description:
      "Find tools, directives, knowledge, MCP servers by what they do. Send a result's `call` to execute. Modifiers: type:bash in:project tag:x mcp:*",
    inputSchema: {
      type: 'object',
      properties: {
        query: string,
        item_type: { enum: ['all', ...itemType.enum] },
        source: { enum: ['all', 'project', 'user', 'local', 'registry', 'builtin', 'mcp'] },
        limit: { type: 'integer' },
        tool_type: string,
        category: string,
        tags: { type: 'array', items: string },
        server: string,
        sort_by: { enum: ['score', 'name', 'updated', 'downloads'] },
        project_path: string,
      },
      required: ['query'],
      additionalProperties: false,
    },
    annotations: READS,
  },
  {
    name: 'load',
    description:
      'Read an item: manifest, files, parameters, versions. `destination` copies. `depth` 1-3 adds related items. `path`, `offset` page.',
    inputSchema: {
      type: 'object',
      properties: {
        item_type: itemType,
        item_id: { type: 'string', description: 'name or name@version' },
        source: string,
        destination: { enum: ['project', 'user'] },
        version: string,
        overwrite: { type: 'boolean' },
        depth: { type: 'integer' },
        path: string,
        offset: { type: 'integer' },
        limit: { type: 'integer' },
        project_path: string,
      },
      required: ['item_type', 'item_id'],
      additionalProperties: false,
    },
    annotations: READS,
  },
  {
    name: 'execute',
    description:
      'Run or change an item. `parameters` for run: what it takes; create, update: {manifest, files} or {content: source}; publish: {version}; delete: {confirm: true}. dry_run checks, runs nothing.',
    inputSchema: {
      type: 'object',
      properties: {
        item_type: itemType,
        action: { type: 'string', description: 'run, create, update, sign, publish, delete, undo, finish' },
        item_id: string,
        parameters: { type: 'object' },
        version: string,
        run_id: string,
        dry_run: { type: 'boolean' },
        project_path: string,
      },
      required: ['item_type', 'action'],
      additionalProperties: false,
    },
    annotations: { destructiveHint: true, openWorldHint: true },
  },
  {
    name: 'help',
    description: 'How Kiwi works: a topic (overview, tools...), an error_code, how to call an item_id.',
    inputSchema: {
      type: 'object',
      properties: { topic: string, error_code: string, item_id: string, project_path: string },
      additionalProperties: false,
    },
    annotations: READS,
  },
]

/** The first lines a client may show its model. */
export const INSTRUCTIONS = `Kiwi keeps every tool, directive, piece of knowledge and MCP server of this person behind four tools.
1. search with a few words for the step at hand. 2. Fill in the call of a result and send it to execute.
load shows an item whole; help explains. Directives are prompts and skills too, knowledge is resources. What is missing can be made: execute with action "create" writes a tool as data, and it runs in the next call.
Every call is judged, limited and recorded by one gate. An error says what happened, what to do (hint) and the very next call (fix).`
