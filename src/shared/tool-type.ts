/** The ten types of tool. Everything that has an id is one of them. */
export const TOOL_TYPES = [
  'primitive',
  'runtime',
  'mcp_server',
  'mcp_tool',
  'script',
  'api',
  'directive',
  'thread',
  'knowledge',
  'composite',
] as const
export type ToolType = (typeof TOOL_TYPES)[number]

interface TypeRule {
  /** What the executor must be: nothing, a tool of this type, or exactly this tool. */
  readonly executor: { readonly type: ToolType } | { readonly id: string } | null
  /** Whether the type may carry files beside its manifest. */
  readonly hasFiles: boolean
  /** Whether it can be run by itself. */
  readonly isRun: boolean
}

export const TYPE_RULES: Readonly<Record<ToolType, TypeRule>> = {
  primitive: { executor: null, hasFiles: false, isRun: false },
  runtime: { executor: { type: 'primitive' }, hasFiles: true, isRun: false },
  mcp_server: { executor: { type: 'primitive' }, hasFiles: true, isRun: false },
  mcp_tool: { executor: { type: 'mcp_server' }, hasFiles: false, isRun: true },
  script: { executor: { type: 'runtime' }, hasFiles: true, isRun: true },
  api: { executor: { id: 'http_client' }, hasFiles: false, isRun: true },
  directive: { executor: { id: 'llm_runtime' }, hasFiles: true, isRun: true },
  thread: { executor: { id: 'llm_runtime' }, hasFiles: false, isRun: false },
  knowledge: { executor: null, hasFiles: true, isRun: true },
  composite: { executor: null, hasFiles: true, isRun: false },
}

/** How a caller names kinds of items: a tool is everything that is neither of the others. */
export const ITEM_TYPES = ['tool', 'directive', 'knowledge', 'mcp'] as const
export type ItemType = (typeof ITEM_TYPES)[number]

export function itemTypeOf(toolType: ToolType): ItemType {
  if (toolType === 'directive' || toolType === 'knowledge') return toolType
  return toolType === 'mcp_server' ? 'mcp' : 'tool'
}
