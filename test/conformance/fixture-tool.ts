import type {
  CallToolResult,
  InputRequiredResult,
  RequestStateCodec,
  Server,
  ServerContext,
  ServerEventBus,
} from '@modelcontextprotocol/server'
import type { Tasks } from '../../src/server/tasks.ts'

export interface ToolMeans {
  readonly server: Server
  readonly codec: RequestStateCodec<{ step: string }>
  readonly tasks: Tasks
  /** Where clients of the newer era are told of changes over HTTP; else the connection itself is told. */
  readonly bus: ServerEventBus | undefined
}

export interface Given {
  readonly args: Readonly<Record<string, unknown>>
  readonly ctx: ServerContext
  readonly means: ToolMeans
}

export type Answer = CallToolResult | InputRequiredResult
export type ToolWork = (given: Given) => Answer | Promise<Answer>
export type Schema = { readonly type: 'object'; [key: string]: unknown }

export function text(words: string): CallToolResult {
  return { content: [{ type: 'text', text: words }] }
}
