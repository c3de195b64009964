import { z } from 'zod'
import type { Ticket } from '../../kernel/call.ts'
import { KiwiError } from '../../shared/errors.ts'
import { IN_WORDS, fieldFaults } from '../../shared/field-faults.ts'
import type { JsonObject } from '../../shared/json.ts'
import { assertPlain } from '../../shared/json.ts'
import type { Redact } from '../../shared/redact.ts'
import { textOf } from '../../shared/template.ts'
import type { MetaCall } from '../context.ts'
import type { Loaded } from '../load.ts'
import { complete } from './complete.ts'
import { getPrompt, listPrompts } from './prompts.ts'
import { checkResource, listResources, listTemplates, readResource } from './resources.ts'
import { getSkill, listSkills, readDirectory } from './skills.ts'

/** A request of a client that shows prompts, resources or skills by itself. */
export interface SurfaceRequest {
  readonly method: SurfaceMethod
  readonly params: JsonObject
}

interface Surface {
  /** Which of the four tools does the same: it is judged and recorded as that. */
  readonly tool: 'search' | 'load'
  readonly answer: (params: JsonObject, call: MetaCall) => Promise<JsonObject>
}

const name = z.string().min(1).max(512)
const uri = z.string().min(1).max(4096)
const Paged = z.looseObject({ cursor: z.string().max(1024).optional() })
const Addressed = z.looseObject({ uri })
const Prompt = z.looseObject({ name, arguments: z.record(z.string(), z.string()).optional() })
const Completed = z.looseObject({
  ref: z.discriminatedUnion('type', [
    z.looseObject({ type: z.literal('ref/prompt'), name }),
    z.looseObject({ type: z.literal('ref/resource'), uri }),
  ]),
  argument: z.looseObject({ name, value: z.string().max(4096) }),
})

/** Directives as prompts, knowledge as resources, both as skills: what MCP has for texts that a server offers. */
const SURFACES = {
  'prompts/list': surface('search', Paged, listPrompts),
  'prompts/get': surface('load', Prompt, getPrompt),
  'completion/complete': surface('search', Completed, complete),
  'resources/list': surface('search', Paged, listResources),
  'resources/templates/list': surface('search', Paged, listTemplates),
  'resources/read': surface('load', Addressed, readResource),
  'resources/subscribe': surface('load', Addressed, checkResource),
  'skills/list': surface('search', Paged, listSkills),
  'skills/get': surface('load', Addressed, getSkill),
  'resources/directory/read': surface('load', Addressed, readDirectory),
} as const satisfies Readonly<Record<string, Surface>>

export type SurfaceMethod = keyof typeof SURFACES

/** Answers it as the protocol wants it. */
export async function showSurface({ method, params }: SurfaceRequest, call: MetaCall): Promise<Loaded> {
  return { data: await SURFACES[method].answer(params, call), warnings: [] }
}

/** How such a request is recorded. */
export function surfaceRecord(
  { method, params }: SurfaceRequest,
  redact: Redact,
): Pick<Ticket, 'operation' | 'subject' | 'parameters'> {
  const { _meta: _, ...given } = params
  const subject = given['name'] ?? given['uri'] ?? method
  return {
    operation: SURFACES[method].tool,
    // Half of a secret would not be found.
    subject: textOf(redact(subject)).slice(0, 256),
    parameters: { method, ...given },
  }
}

function surface<T>(
  tool: Surface['tool'],
  schema: z.ZodType<T>,
  answer: (params: T, call: MetaCall) => Promise<JsonObject>,
): Surface {
  return {
    tool,
    async answer(params, call) {
      assertPlain(params, 'the request')
      const { data, error } = schema.safeParse(params, IN_WORDS)
      if (data !== undefined) return answer(data, call)
      const faults = fieldFaults(error?.issues ?? [])
      const words = faults.map((fault) => `"${fault.name}" ${fault.reason}`)
      throw new KiwiError('INVALID_PARAMETERS', `Cannot read the request: ${words.join('; ')}`, {
        hint: 'Send what the list gave',
        details: { missing: [], invalid: faults },
      })
    },
  }
}
