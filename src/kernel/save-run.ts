import type { Draft } from '../chain/draft.ts'
import type { Performed } from '../chain/perform.ts'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { withoutSecretKeys } from '../shared/redact.ts'
import type { Means } from './means.ts'

interface Run {
  readonly draft: Draft
  readonly callId: string
  readonly projectPath: string | null
}

/**
 * Performs a run and saves what it gave back, or how it failed. Nothing is saved of content, which is only read, nor
 * by our own tools for files: what they read and write is there already, and not everybody's to see.
 */
export async function saveRun(
  { draft, callId, projectPath }: Run,
  { outputs, clock }: Pick<Means, 'outputs' | 'clock'>,
  perform: () => Promise<Performed>,
): Promise<Performed> {
  const { plan, parameters, redact } = draft
  const { space, manifest } = plan.item
  if (draft.effect.kind === 'content' || (space === 'builtin' && manifest.paths !== undefined))
    return perform()
  const [startedAt, since] = [clock.now(), clock.monotonic()]
  const pending = outputs.begin(plan.item.id, projectPath)
  const save = (
    error: JsonObject | null,
    { output = null, ...rest }: JsonObject,
  ): Promise<readonly string[]> => {
    const duration = clock.monotonic() - since
    return pending.save(() => ({
      tool_id: plan.item.id,
      version: plan.item.manifest.version,
      call_id: callId,
      started_at: new Date(startedAt).toISOString(),
      parameters: JSON.parse(withoutSecretKeys(redact(parameters))),
      status: error === null ? 'success' : 'error',
      output,
      error,
      metadata: {
        executor_chain: plan.chain,
        duration_ms: Math.round(duration),
        ...rest,
      },
    }))
  }
  try {
    const { data, warnings } = await perform()
    const said = warnings.length === 0 ? {} : { warnings }
    const unsaved = await save(null, { ...data, ...said })
    return { data, warnings: [...warnings, ...unsaved] }
  } catch (error) {
    const { code, message, partial = {} } = error instanceof KiwiError ? error : OUR_FAULT
    await save({ code, message }, partial)
    throw error
  }
}

const OUR_FAULT = { code: 'INTERNAL', message: 'A fault in Kiwi itself', partial: {} }
