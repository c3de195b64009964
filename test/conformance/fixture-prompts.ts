import type { GetPromptResult, InputRequiredResult, Server } from '@modelcontextprotocol/server'
import { ProtocolError, acceptedContent, inputRequired } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { PNG } from './fixture-resources.ts'

type Content = GetPromptResult['messages'][number]['content']
type Answer = GetPromptResult | InputRequiredResult

const PROMPTS = [
  { name: 'test_simple_prompt', description: 'A simple prompt' },
  {
    name: 'test_prompt_with_arguments',
    description: 'A prompt with arguments',
    arguments: [
      { name: 'arg1', description: 'First', required: true },
      { name: 'arg2', description: 'Second', required: true },
    ],
  },
  {
    name: 'test_prompt_with_embedded_resource',
    description: 'A prompt with a resource',
    arguments: [{ name: 'resourceUri', description: 'Which', required: true }],
  },
  { name: 'test_prompt_with_image', description: 'A prompt with a picture' },
  { name: 'test_input_required_result_prompt', description: 'A prompt that asks first' },
]

export function addPrompts(server: Server): void {
  server.setRequestHandler('prompts/list', () => ({ prompts: PROMPTS }))
  server.setRequestHandler(
    'prompts/get',
    ({ params: { name, arguments: given = {} } }, { mcpReq }): Answer => {
      switch (name) {
        case 'test_simple_prompt':
          return said(text('This is a simple prompt for testing.'))
        case 'test_prompt_with_arguments':
          return said(text(`Prompt with arguments: arg1='${given['arg1']}', arg2='${given['arg2']}'`))
        case 'test_prompt_with_embedded_resource':
          return said(
            {
              type: 'resource',
              resource: {
                uri: given['resourceUri'] ?? '',
                mimeType: 'text/plain',
                text: 'Embedded resource content for testing.',
              },
            },
            text('Please process the embedded resource above.'),
          )
        case 'test_prompt_with_image':
          return said(
            { type: 'image', data: PNG, mimeType: 'image/png' },
            text('Please analyze the image above.'),
          )
        case 'test_input_required_result_prompt': {
          const answer = acceptedContent(mcpReq.inputResponses, 'user_context', Context)
          return answer === undefined ? CONTEXT : said(text(`In the context of ${answer.context}`))
        }
        default:
          throw new ProtocolError(-32_602, `Unknown prompt: ${name}`)
      }
    },
  )
}

const Context = z.object({ context: z.string() })
const CONTEXT = inputRequired({
  inputRequests: {
    user_context: inputRequired.elicit({
      message: 'What context should the prompt use?',
      requestedSchema: {
        type: 'object',
        properties: { context: { type: 'string' } },
        required: ['context'],
      },
    }),
  },
})

function text(words: string): Content {
  return { type: 'text', text: words }
}

function said(...contents: readonly Content[]): GetPromptResult {
  return { messages: contents.map((content) => ({ role: 'user' as const, content })) }
}
