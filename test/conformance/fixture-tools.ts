import type { ServerContext } from '@modelcontextprotocol/server'
import { ProtocolError } from '@modelcontextprotocol/server'
import { setTimeout as delay } from 'node:timers/promises'
import { ASKING_TOOLS, STATEFUL_TOOLS } from './fixture-asking.ts'
import { PNG } from './fixture-resources.ts'
import { TASK_TOOLS } from './fixture-tasks.ts'
import type { Answer, Schema, ToolMeans, ToolWork } from './fixture-tool.ts'
import { text } from './fixture-tool.ts'

const WAV = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA='
const PAUSE_MS = 50

const PLAIN_TOOLS: Readonly<Record<string, ToolWork>> = {
  test_simple_text: () => text('This is a simple text response for testing.'),
  test_image_content: () => ({ content: [{ type: 'image', data: PNG, mimeType: 'image/png' }] }),
  test_audio_content: () => ({ content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }] }),
  test_embedded_resource: () => ({
    content: [
      {
        type: 'resource',
        resource: {
          uri: 'test://embedded-resource',
          mimeType: 'text/plain',
          text: 'This is an embedded resource content.',
        },
      },
    ],
  }),
  test_multiple_content_types: () => ({
    content: [
      { type: 'text', text: 'Multiple content types test:' },
      { type: 'image', data: PNG, mimeType: 'image/png' },
      {
        type: 'resource',
        resource: {
          uri: 'test://mixed-content-resource',
          mimeType: 'application/json',
          text: '{"test":"data","value":123}',
        },
      },
    ],
  }),
  test_tool_with_logging: async ({ ctx: { mcpReq } }) => {
    for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      await mcpReq.log('info', data)
      await delay(PAUSE_MS)
    }
    return text('Logged')
  },
  test_logging_tool: async ({ ctx: { mcpReq } }) => {
    await mcpReq.log('info', 'Only for who asked for it')
    return text('Logged where it was asked for')
  },
  test_tool_with_progress: async ({ ctx: { mcpReq } }) => {
    const { _meta: { progressToken: token } = {} } = mcpReq
    for (const progress of [0, 50, 100]) {
      const params = { progressToken: token ?? 0, progress, total: 100 }
      if (token !== undefined) await mcpReq.notify({ method: 'notifications/progress', params })
      await delay(PAUSE_MS)
    }
    return text('Done')
  },
  test_error_handling: () => ({
    ...text('This tool intentionally returns an error for testing'),
    isError: true,
  }),
  test_reconnection: () => text('Still here'),
  json_schema_2020_12_tool: () => text('Fits'),
  test_x_mcp_header: ({ args }) => text(`Region: ${String(args['region'])}`),
  greet: ({ args }) => text(`Hello, ${String(args['name'])}!`),
  test_trigger_tool_change: async ({ means: { server, bus } }) => {
    if (bus === undefined) await server.sendToolListChanged()
    bus?.publish({ kind: 'tools_list_changed' })
    return text('Changed')
  },
  test_trigger_prompt_change: async ({ means: { server, bus } }) => {
    if (bus === undefined) await server.sendPromptListChanged()
    bus?.publish({ kind: 'prompts_list_changed' })
    return text('Changed')
  },
}

const ALL: Readonly<Record<string, ToolWork>> = {
  ...PLAIN_TOOLS,
  ...ASKING_TOOLS,
  ...STATEFUL_TOOLS,
  ...TASK_TOOLS,
}

const string = { type: 'string' } as const

/** Those that are not here take nothing. */
const SCHEMAS: Readonly<Record<string, Schema>> = {
  test_sampling: { type: 'object', properties: { prompt: string }, required: ['prompt'] },
  test_elicitation: { type: 'object', properties: { message: string }, required: ['message'] },
  greet: { type: 'object', properties: { name: string } },
  slow_compute: { type: 'object', properties: { seconds: { type: 'number' }, label: string } },
  confirm_delete: { type: 'object', properties: { filename: string } },
  test_x_mcp_header: {
    type: 'object',
    properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
  },
  json_schema_2020_12_tool: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    $defs: {
      address: {
        $anchor: 'addressDef',
        type: 'object',
        properties: { street: string, city: string },
      },
    },
    properties: {
      name: string,
      address: { $ref: '#/$defs/address' },
      contactMethod: { type: 'string', enum: ['phone', 'email'] },
      phone: string,
      email: string,
    },
    allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
    if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
    then: { required: ['phone'] },
    else: { required: ['email'] },
    additionalProperties: false,
  },
}

interface ListedTool {
  readonly name: string
  readonly description: string
  readonly inputSchema: Schema
}

export const TOOLS: readonly ListedTool[] = Object.keys(ALL).map((name) => ({
  name,
  description: `A tool of the suite: ${name.replaceAll('_', ' ')}`,
  inputSchema: SCHEMAS[name] ?? { type: 'object', properties: {} },
}))

type CallTool = (
  request: {
    readonly params: { readonly name: string; readonly arguments?: Record<string, unknown> | undefined }
  },
  ctx: ServerContext,
) => Promise<Answer>

export function createCallTool(means: ToolMeans): CallTool {
  return async ({ params: { name, arguments: args = {} } }, ctx) => {
    const work = Object.hasOwn(ALL, name) ? ALL[name] : undefined
    if (work === undefined) throw new ProtocolError(-32_602, `Unknown tool: ${name}`)
    return work({ args, ctx, means })
  }
}
