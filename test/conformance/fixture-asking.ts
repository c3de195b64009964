import type { ServerContext } from '@modelcontextprotocol/server'
import {
  CLIENT_CAPABILITIES_META_KEY,
  MissingRequiredClientCapabilityError,
  acceptedContent,
  inputRequired,
  inputResponse,
} from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { ToolWork } from './fixture-tool.ts'
import { text } from './fixture-tool.ts'

type Form = Extract<Parameters<typeof inputRequired.elicit>[0]['requestedSchema'], { type: 'object' }>
type Properties = Form['properties']

/** Tools that ask in every era: the SDK sends what an older client expects. */
export const ASKING_TOOLS: Readonly<Record<string, ToolWork>> = {
  test_sampling: ({ args, ctx: { mcpReq } }) => {
    const seen = inputResponse(mcpReq.inputResponses, 'answer')
    if (seen.kind === 'sampling') return text(`LLM response: ${JSON.stringify(seen.result.content)}`)
    return inputRequired({ inputRequests: { answer: sample(String(args['prompt']), 100) } })
  },
  test_elicitation: ({ args, ctx }) =>
    elicited(ctx, 'User response', String(args['message']), {
      username: { type: 'string', description: "User's response" },
      email: { type: 'string', description: "User's email address" },
    }),
  test_elicitation_sep1034_defaults: ({ ctx }) =>
    elicited(ctx, 'Elicitation completed', 'Please confirm', {
      name: { type: 'string', default: 'John Doe' },
      age: { type: 'integer', default: 30 },
      score: { type: 'number', default: 95.5 },
      status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
      verified: { type: 'boolean', default: true },
    }),
  test_elicitation_sep1330_enums: ({ ctx }) =>
    elicited(ctx, 'Elicitation completed', 'Please choose', {
      untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
      titledSingle: { type: 'string', oneOf: titled('Option') },
      legacyEnum: {
        type: 'string',
        enum: ['opt1', 'opt2', 'opt3'],
        enumNames: ['Option One', 'Option Two', 'Option Three'],
      },
      untitledMulti: {
        type: 'array',
        items: { type: 'string', enum: ['option1', 'option2', 'option3'] },
      },
      titledMulti: { type: 'array', items: { anyOf: titled('Choice') } },
    }),
  test_streaming_elicitation: ({ ctx }) => elicited(ctx, 'Answered', 'Say something', NAME),
  test_missing_capability: ({ ctx }) => {
    if (capabilitiesOf(ctx).sampling !== undefined) return text('Nothing is missing')
    throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { sampling: {} } })
  },
  test_input_required_result_elicitation: ({ ctx: { mcpReq } }) => {
    const answer = acceptedContent(mcpReq.inputResponses, 'user_name', Name)
    if (answer !== undefined) return text(`Hello, ${answer.name}!`)
    return inputRequired({ inputRequests: { user_name: form('What is your name?', NAME) } })
  },
  test_input_required_result_sampling: ({ ctx: { mcpReq } }) => {
    const seen = inputResponse(mcpReq.inputResponses, 'capital_question')
    if (seen.kind === 'sampling') return text(JSON.stringify(seen.result.content))
    return inputRequired({
      inputRequests: { capital_question: sample('What is the capital of France?', 100) },
    })
  },
  test_input_required_result_list_roots: ({ ctx: { mcpReq } }) => {
    const seen = inputResponse(mcpReq.inputResponses, 'client_roots')
    if (seen.kind === 'roots') return text(`Roots: ${seen.roots.map(({ uri }) => uri).join(' ')}`)
    return inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } })
  },
  test_input_required_result_capabilities: ({ ctx }) => {
    const { elicitation, sampling } = capabilitiesOf(ctx)
    return inputRequired({
      inputRequests: {
        ...(elicitation === undefined ? {} : { user_name: form('What is your name?', NAME) }),
        ...(sampling === undefined ? {} : { greeting: sample('Generate a greeting', 50) }),
      },
    })
  },
}

/** Those that send a sealed state along. */
export const STATEFUL_TOOLS: Readonly<Record<string, ToolWork>> = {
  test_input_required_result_request_state: async ({ ctx, means: { codec } }) => {
    if (stepOf(ctx) === 'confirm') return text('state-ok')
    return inputRequired({
      inputRequests: { confirm: form('Please confirm', { ok: { type: 'boolean' } }) },
      requestState: await codec.mint({ step: 'confirm' }, ctx),
    })
  },
  test_input_required_result_multiple_inputs: async ({ ctx, means: { codec } }) => {
    const { inputResponses } = ctx.mcpReq
    const seen = ['user_name', 'greeting', 'client_roots'].map((key) => inputResponse(inputResponses, key))
    if (seen.every(({ kind }) => kind !== 'missing')) return text('All three are here')
    return inputRequired({
      inputRequests: {
        user_name: form('What is your name?', NAME),
        greeting: sample('Generate a greeting', 50),
        client_roots: inputRequired.listRoots(),
      },
      requestState: await codec.mint({ step: 'all' }, ctx),
    })
  },
  test_input_required_result_multi_round: async ({ ctx, means: { codec } }) => {
    const step = stepOf(ctx)
    if (step === 'second') return text('Both rounds are done')
    const next =
      step === 'first'
        ? { step2: form('Step 2: What is your favorite color?', { color: { type: 'string' } }) }
        : { step1: form('Step 1: What is your name?', NAME) }
    return inputRequired({
      inputRequests: next,
      requestState: await codec.mint({ step: step === 'first' ? 'second' : 'first' }, ctx),
    })
  },
  test_input_required_result_tampered_state: async ({ ctx, means: { codec } }) => {
    if (stepOf(ctx) === 'sealed') return text('The seal is whole')
    return inputRequired({
      inputRequests: { confirm: form('Please confirm', { ok: { type: 'boolean' } }) },
      requestState: await codec.mint({ step: 'sealed' }, ctx),
    })
  },
}

const Name = z.object({ name: z.string() })
const NAME: Properties = { name: { type: 'string' } }

function form(message: string, properties: Properties): ReturnType<typeof inputRequired.elicit> {
  return inputRequired.elicit({
    message,
    requestedSchema: { type: 'object', properties, required: Object.keys(properties) },
  })
}

function sample(words: string, maxTokens: number): ReturnType<typeof inputRequired.createMessage> {
  return inputRequired.createMessage({
    messages: [{ role: 'user', content: { type: 'text', text: words } }],
    maxTokens,
  })
}

function elicited(
  { mcpReq }: ServerContext,
  words: string,
  message: string,
  properties: Properties,
): ReturnType<ToolWork> {
  const seen = inputResponse(mcpReq.inputResponses, 'form')
  if (seen.kind !== 'elicit') return inputRequired({ inputRequests: { form: form(message, properties) } })
  return text(`${words}: action=${seen.action}, content=${JSON.stringify(seen.content)}`)
}

function titled(word: string): { const: string; title: string }[] {
  return ['First', 'Second', 'Third'].map((place, at) => ({
    const: `value${at + 1}`,
    title: `${place} ${word}`,
  }))
}

function stepOf({ mcpReq }: ServerContext): string | null {
  const state = z.object({ step: z.string() }).safeParse(mcpReq.requestState())
  return state.data?.step ?? null
}

const Declared = z.looseObject({
  [CLIENT_CAPABILITIES_META_KEY]: z
    .looseObject({ elicitation: z.unknown(), sampling: z.unknown() })
    .partial(),
})

function capabilitiesOf({ mcpReq }: ServerContext): { elicitation?: unknown; sampling?: unknown } {
  return Declared.safeParse(mcpReq.envelope).data?.[CLIENT_CAPABILITIES_META_KEY] ?? {}
}
