import type { HttpClient } from '../primitives/http/http-client.ts'
import type { Subprocess } from '../primitives/subprocess/subprocess.ts'
import type { JsonObject, JsonValue } from '../shared/json.ts'
import type { Item } from '../spaces/item.ts'
import { BODY } from '../spaces/item.ts'
import type { Draft } from './draft.ts'
import type { Plan } from './plan.ts'
import { readCommand } from './read-command.ts'
import { readResponse } from './read-response.ts'
import { describeFindings } from './schemas.ts'
import type { WorkFolders } from './work-folder.ts'

/** What a call gave back: `output` first, then what else is worth knowing. */
export interface Performed {
  readonly data: JsonObject
  readonly warnings: readonly string[]
}

export interface PerformMeans {
  readonly subprocess: Subprocess
  readonly httpClient: HttpClient
  readonly workFolders: WorkFolders
}

/** Makes the call. Everything it gives back or fails with has live secrets taken out. */
export async function perform(draft: Draft, means: PerformMeans, signal?: AbortSignal): Promise<Performed> {
  const { plan, effect, redact } = draft
  switch (effect.kind) {
    case 'content':
      return contentOf(plan)
    case 'subprocess': {
      const { item, runtime } = itemsOnDisk(plan)
      const command = effect.inFolders({
        workFolder: item === null ? null : await means.workFolders.prepare(item),
        runtimeFolder: runtime === null ? null : await means.workFolders.prepare(runtime),
      })
      const result = await means.subprocess.run(command, signal)
      return checked(plan, readCommand(plan, redact(command.command), redacted(result, redact)))
    }
    case 'http_client': {
      const result = await means.httpClient.request(effect.request, signal)
      const host = redact(new URL(effect.request.url).host)
      return checked(plan, await readResponse(plan, host, redacted(result, redact)))
    }
  }
}

/** The items whose files a run needs on disk. */
export function itemsOnDisk(plan: Plan): { readonly item: Item | null; readonly runtime: Item | null } {
  const usesRuntime = plan.effect.kind === 'subprocess' && plan.effect.command.usesRuntimeFiles
  return {
    item: plan.hasFiles ? plan.item : null,
    runtime: usesRuntime ? (plan.items[1] ?? null) : null,
  }
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
  'the output is the JSON as text, nothing selected: a number in it cannot be kept exactly, or a key or text is unsafe'

async function contentOf({ item }: Plan): Promise<Performed> {
  const files = await item.files()
  const content = files.find(({ path }) => path === BODY) ?? files[0]
  return {
    data: { output: content === undefined ? '' : Buffer.from(content.content).toString('utf8') },
    warnings: [],
  }
}

function redacted<T extends object>(result: T, redact: Draft['redact']): T {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- results are JSON, and redacting keeps their shape
  return redact(result as unknown as JsonValue) as unknown as T
}
