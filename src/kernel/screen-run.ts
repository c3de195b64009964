import type { Performed } from '../chain/perform.ts'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject, JsonValue } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import { textOf } from '../shared/template.ts'
import type { Means } from './means.ts'
import type { Policy } from './policy/policy.ts'

interface Run {
  readonly toolId: string
  readonly projectPath: string | null
}

interface ScreenMeans extends Pick<Means, 'secretPatterns'> {
  readonly policyOf: (projectPath: string | null) => OnSecret | Promise<OnSecret>
}

type OnSecret = Pick<Policy, 'onSecret'>

/** Looks over what a run gave back, or how it failed, before anybody sees it or it is kept. */
export async function screenRun(
  { toolId, projectPath }: Run,
  { secretPatterns, policyOf }: ScreenMeans,
  perform: () => Promise<Performed>,
): Promise<Performed> {
  // Read while the tool runs, so that the first result does not wait for it.
  const ready = secretPatterns.screen(null)
  if (ready instanceof Promise) ready.catch(() => undefined)
  try {
    const { data, warnings } = await perform()
    const screening = secretPatterns.screen(data)
    const { rules, redacted } = screening instanceof Promise ? await screening : screening
    if (rules.length === 0) return { data, warnings }
    switch ((await policyOf(projectPath)).onSecret) {
      case 'flag':
        return { data, warnings: [...warnings, ...rules.map((rule) => flagged('holds', rule))] }
      case 'redact':
        return {
          data: objectOf(redacted),
          warnings: [...warnings, ...rules.map((rule) => flagged('held', rule))],
        }
      case 'block':
        throw blocked(toolId, rules)
    }
  } catch (error) {
    if (!(error instanceof KiwiError) || error.code === 'SECRET_BLOCKED') throw error
    throw await screenError(error)
  }

  /** A failure shows what the tool said, too. */
  async function screenError(error: KiwiError): Promise<KiwiError> {
    const { code, message, hint, details, fix, retryable, partial, cause } = error
    const { rules, redacted } = await secretPatterns.screen([message, partial ?? null])
    if (rules.length === 0) return error
    const { onSecret } = await policyOf(projectPath)
    if (onSecret === 'block') return blocked(toolId, rules, code)
    const [text, rest] =
      onSecret === 'redact' && Array.isArray(redacted) ? redacted : [message, partial ?? null]
    return new KiwiError(code, textOf(text), {
      hint,
      details: { ...details, looks_like_secret: rules },
      retryable,
      ...(onSecret === 'flag' ? { cause } : {}),
      ...(fix === undefined ? {} : { fix }),
      ...(isJsonObject(rest) ? { partial: rest } : {}),
    })
  }
}

function flagged(verb: string, rule: string): string {
  return `the result ${verb} what looks like a secret (rule ${rule})`
}

function blocked(toolId: string, rules: readonly string[], failure?: string): KiwiError {
  const rule = rules.length === 1 ? `rule ${rules[0]} matched` : `rules ${rules.join(', ')} matched`
  const ran = failure === undefined ? 'The call was made' : 'The call was made and failed'
  return new KiwiError('SECRET_BLOCKED', `Cannot return the result of "${toolId}": ${rule}`, {
    hint: `${ran}, and nothing of its result is kept; ask the person, whose policy blocks what looks like a secret`,
    details: { layer: 'policy', rule: rules.join(', '), ...(failure === undefined ? {} : { failure }) },
  })
}

function objectOf(value: JsonValue): JsonObject {
  return isJsonObject(value) ? value : {}
}
