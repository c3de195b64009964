import type { McpServerFactory, ServerEventBus } from '@modelcontextprotocol/server'
import { McpServer, createRequestStateCodec } from '@modelcontextprotocol/server'
import { SkillsExtension, memorySkillFiles } from '@modelcontextprotocol/server/ext/skills'
import { createMemoryTasks } from './memory-tasks.ts'
import { addPrompts } from './fixture-prompts.ts'
import { addResources } from './fixture-resources.ts'
import { TASKS_EXTENSION } from '../../src/server/task-methods.ts'
import { openTasks } from '../../src/server/tasks.ts'
import { systemClock } from '../../src/shared/clock.ts'
import { createIds } from '../../src/shared/ids.ts'
import type { Schema } from './fixture-tool.ts'
import { TOOLS, createCallTool } from './fixture-tools.ts'

const SKILL = `---
name: greeting
description: How to greet somebody
---
Say hello, then the name.
`

/** A server that knows its tools' schemas, so that the headers of a call can be held against them. */
class Shell extends McpServer {
  override toolInputSchemaJson(name: string): Schema | undefined {
    return TOOLS.find((tool) => tool.name === name)?.inputSchema
  }
}

/** The server that the conformance suite is written for: every name in it is the suite's. */
export async function createFixture(bus?: ServerEventBus): Promise<McpServerFactory> {
  const codec = createRequestStateCodec<{ step: string }>({
    key: new Uint8Array(32).fill(7),
    ttlSeconds: 600,
    bind: ({ mcpReq }) => mcpReq.method,
  })
  const rows = createMemoryTasks()
  const tasks = openTasks({
    rows: () => Promise.resolve(rows),
    clock: systemClock,
    ids: createIds(Date.now),
  })
  const skills = await SkillsExtension.load(
    memorySkillFiles({ 'greeting/SKILL.md': SKILL, 'greeting/references/names.md': 'Ada\n' }),
    { onWarning: () => undefined },
  )
  return () => {
    const shell = new Shell(
      { name: 'conformance-fixture', version: '1.0.0' },
      {
        capabilities: {
          tools: { listChanged: true },
          prompts: { listChanged: true },
          resources: { listChanged: true, subscribe: true },
          completions: {},
          logging: {},
          extensions: { [TASKS_EXTENSION]: {} },
        },
        instructions: 'A server for the conformance suite',
        requestState: { verify: (state, ctx) => codec.verify(state, ctx) },
      },
    )
    const { server } = shell
    server.setRequestHandler('tools/list', () => ({ tools: TOOLS.map((tool) => ({ ...tool })) }))
    server.setRequestHandler('tools/call', createCallTool({ server, codec, tasks, bus }))
    addPrompts(server)
    addResources(shell)
    tasks.attach(server, 'anybody')
    skills.attach(shell)
    return shell
  }
}
