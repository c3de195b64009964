import { ProtocolError, acceptedContent, inputRequired } from '@modelcontextprotocol/server'
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import type { TaskWork } from '../../src/server/tasks.ts'
import { acceptsTasks, requireTasks } from '../../src/server/task-methods.ts'
import type { Answer, Given, ToolWork } from './fixture-tool.ts'
import { text } from './fixture-tool.ts'
import type { JsonObject } from '../../src/shared/json.ts'

const Name = z.object({ name: z.string() })
const MILLISECONDS = 1000

export const TASK_TOOLS: Readonly<Record<string, ToolWork>> = {
  slow_compute: async (given) => {
    const { seconds = 0, label = '' } = z
      .object({ seconds: z.number().optional(), label: z.string().optional() })
      .parse(given.args)
    if (seconds > 0 && acceptsTasks(given.ctx)) {
      return begin(given, async ({ signal }) => {
        await delay(seconds * MILLISECONDS, undefined, { signal })
        return words(`Computed ${label}`)
      })
    }
    await delay(seconds * MILLISECONDS)
    return text(`Computed ${label}`)
  },
  failing_job: must(async () => ({ ...words('It did not work out'), isError: true })),
  protocol_error_job: must(async () => {
    throw new ProtocolError(-32_603, 'A fault of the protocol')
  }),
  confirm_delete: must(async ({ ask }, { args }) => {
    const answers = await ask({ confirm: boolean(`Delete ${String(args['filename'])}?`) })
    return words(`Answered: ${JSON.stringify(answers['confirm'])}`)
  }),
  multi_input: must(async ({ ask }) => {
    const answers = await ask({ first: boolean('The first?'), second: boolean('The second?') })
    return words(`Answered: ${Object.keys(answers).join(' ')}`)
  }),
  test_tool_with_task: async (given) => {
    requireTasks(given.ctx)
    const answer = acceptedContent(given.ctx.mcpReq.inputResponses, 'user_name', Name)
    if (answer !== undefined) return begin(given, async () => words(`Hello, ${answer.name}!`))
    return inputRequired({
      inputRequests: {
        user_name: inputRequired.elicit({
          message: 'What is your name?',
          requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
        }),
      },
    })
  },
}

/** A tool that is nothing but a task. */
function must(work: (control: Parameters<TaskWork>[0], given: Given) => ReturnType<TaskWork>): ToolWork {
  return async (given) => {
    requireTasks(given.ctx)
    return begin(given, (control) => work(control, given))
  }
}

async function begin({ means: { tasks } }: Given, work: TaskWork): Promise<Answer> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the SDK passes such answers on but has no type for them
  return (await tasks.begin('anybody', work)) as unknown as Answer
}

function words(said: string): JsonObject {
  return { content: [{ type: 'text', text: said }] }
}

function boolean(message: string): JsonObject {
  return {
    method: 'elicitation/create',
    params: {
      message,
      requestedSchema: { type: 'object', properties: { confirm: { type: 'boolean' } } },
    },
  }
}
