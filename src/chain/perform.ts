import type { LineResult } from '../primitives/subprocess/run-line.ts'
import type { JsonObject } from '../shared/json.ts'
import type { Watch } from '../shared/progress.ts'
import { BODY } from '../spaces/item.ts'
import type { Draft } from './draft.ts'
import { callTool } from './call-upstream.ts'
import type { PerformMeans } from './perform-means.ts'
import type { Plan } from './plan.ts'
import { prepareCommand } from './prepare-command.ts'
import { readCommand } from './read-command.ts'
import { readResponse } from './read-response.ts'
import { readToolResult } from './read-tool-result.ts'
import { redacted } from './redacted.ts'
import { describeFindings } from './schemas.ts'
import type { LineDraft } from './shell/draft-line.ts'

/** What a call gave back: `output` first, then what else is worth knowing. */
export interface Performed {
  readonly data: JsonObject
  readonly warnings: readonly string[]
}

/** Makes the call. Everything it gives back or fails with has live secrets taken out. */
export async function perform(draft: Draft, means: PerformMeans, watch: Watch = {}): Promise<Performed> {
  const { plan, effect, redact, hold } = draft
  switch (effect.kind) {
    case 'content':
      return contentOf(plan)
    case 'subprocess': {
      const command = await prepareCommand(plan, effect, means, watch)
      const result = await means.subprocess.run(command, watch.signal)
      return checked(
        plan,
        readCommand(
          plan,
          { program: redact(command.command), timeoutMs: command.timeoutMs },
          redacted(result, redact, result.truncated),
          heldBy(hold),
        ),
      )
    }
    case 'line': {
      const { timeoutMs } = effect.line
      const { return_codes: codes, ...result } = await means.subprocess.runLine(effect.line, watch.signal)
      const program = effect.commands.map(({ argv }) => argv[0] ?? '').join(' ')
      const more = { ...redacted(stepsOf(effect, codes), redact), ...heldBy(hold) }
      const clean = redacted(result, redact, result.truncated)
      return checked(plan, readCommand(plan, { program: redact(program), timeoutMs }, clean, more))
    }
    case 'mcp': {
      const { result, inVain, warnings } = await callTool(draft, effect, means, watch)
      const { data, warnings: found } = checked(plan, readToolResult(plan, result, [...inVain]))
      return { data, warnings: [...warnings, ...found] }
    }
    case 'http_client': {
      const request = { ...effect.request, mayReach: watch.mayReach }
      const result = await means.httpClient.request(request, watch.signal)
      const host = redact(new URL(effect.request.url).host)
      const isCut = result.failure === 'too_large'
      return checked(plan, await readResponse(plan, host, redacted(result, redact, isCut)))
    }
  }
}

/** What really held it, where that was asked for. */
function heldBy(hold: Draft['hold']): JsonObject {
  return hold?.isAsked === true ? { sandbox: hold.shown } : {}
}

/** How each command ended, in order; null for one that was not started. */
function stepsOf({ commands, line }: LineDraft, codes: LineResult['return_codes']): JsonObject {
  const all = line.steps.flatMap(({ programs }, at) => programs.map((_, stage) => codes[at]?.[stage] ?? null))
  return { steps: commands.map(({ argv }, at) => ({ argv: [...argv], return_code: all[at] ?? null })) }
}

/** A tool that promises an output and gives another still gave one: the difference is reported. */
function checked(plan: Plan, data: JsonObject): Performed {
  const warnings = [
    ...(data['truncated'] === true ? ['the output was over its limit and is cut'] : []),
    ...(data['encoding'] === 'json' ? [KEPT_AS_TEXT] : []),
  ]
  const findings = plan.checkOutput?.(structuredClone(data['output'])) ?? null
  if (findings === null) return { data, warnings }
  return {
    data,
    warnings: [...warnings, `the output is not what the manifest promises: ${describeFindings(findings)}`],
  }
}

const KEPT_AS_TEXT =
  'the output is the JSON as text, nothing selected: a number in it cannot be kept exactly, a key or text is unsafe, or it holds very many values'

async function contentOf({ item }: Plan): Promise<Performed> {
  const files = await item.files()
  const content = files.find(({ path }) => path === BODY) ?? files[0]
  return {
    data: { output: content === undefined ? '' : Buffer.from(content.content).toString('utf8') },
    warnings: [],
  }
}
