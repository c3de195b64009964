import type { HttpClient } from '../primitives/http/http-client.ts'
import type { Command } from '../primitives/subprocess/command.ts'
import type { LineResult } from '../primitives/subprocess/run-line.ts'
import type { Subprocess } from '../primitives/subprocess/subprocess.ts'
import { openStdioWire } from '../upstream/stdio-wire.ts'
import type { Upstreams } from '../upstream/upstreams.ts'
import type { Wire } from '../upstream/wire.ts'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject, JsonValue } from '../shared/json.ts'
import type { Watch } from '../shared/progress.ts'
import { textOf } from '../shared/template.ts'
import { BODY } from '../spaces/item.ts'
import type { Draft } from './draft.ts'
import type { CommandDraft } from './draft-command.ts'
import type { UpstreamDraft } from './draft-upstream.ts'
import { sessionOf } from './draft-upstream.ts'
import type { Environments } from './environments.ts'
import type { Bundle } from './files-as-read.ts'
import type { Plan } from './plan.ts'
import { askedInRounds } from './input-rounds.ts'
import { readCommand } from './read-command.ts'
import { readResponse } from './read-response.ts'
import { readToolResult } from './read-tool-result.ts'
import { describeFindings } from './schemas.ts'
import type { LineDraft } from './shell/draft-line.ts'
import type { UpstreamTalk } from './upstream-talk.ts'
import { openTalk } from './upstream-talk.ts'
import type { WorkFolders } from './work-folder.ts'

/** What a call gave back: `output` first, then what else is worth knowing. */
export interface Performed {
  readonly data: JsonObject
  readonly warnings: readonly string[]
}

export interface PerformMeans {
  readonly subprocess: Subprocess
  readonly httpClient: HttpClient
  readonly upstreams: Upstreams
  readonly workFolders: WorkFolders
  readonly environments: Environments
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
      const more = { ...redacted(stepsOf(effect, codes), redact, false), ...heldBy(hold) }
      const clean = redacted(result, redact, result.truncated)
      return checked(plan, readCommand(plan, { program: redact(program), timeoutMs }, clean, more))
    }
    case 'mcp': {
      const talk = openTalk(watch, redact)
      const result = await callTool(draft, effect, means, { ...watch, talk })
      const { data, warnings } = checked(plan, readToolResult(plan, redacted(result, redact, false)))
      return { data, warnings: [...talk.warnings, ...warnings] }
    }
    case 'http_client': {
      const result = await means.httpClient.request(effect.request, watch.signal)
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

const KEEP_ALIVE_MS = 5 * 60 * 1000

/** What the server cannot say without a secret is told without it. */
async function callTool(
  { plan, parameters, redact }: Draft,
  { toolName, timeoutMs, startupMs, key, server, served }: UpstreamDraft,
  means: PerformMeans,
  watch: Watch & { readonly talk: UpstreamTalk },
): Promise<JsonObject> {
  const { id } = served.item
  const open = async (): Promise<Wire> =>
    openStdioWire(id, means.subprocess, sessionOf(await prepareCommand(served, server, means, watch)))
  const { paths, seen, signal, talk, caller } = watch
  const meta = {
    ...talk.meta,
    ...(paths === undefined ? {} : { 'kiwi/paths': Object.fromEntries(paths) }),
    ...(paths === undefined || seen === undefined ? {} : { 'kiwi/seen': Object.fromEntries(seen) }),
  }
  const hasMeta = Object.keys(meta).length > 0
  const params = { name: toolName, arguments: parameters, ...(hasMeta ? { _meta: meta } : {}) }
  const upstream = { id, key, startupMs, keepAliveMs: KEEP_ALIVE_MS, open }
  const request = { method: 'tools/call', timeoutMs, isRepeatable: plan.isRepeatable, signal, caller }
  const send = (asked: JsonObject): Promise<JsonObject> =>
    means.upstreams.request(upstream, { ...request, ...talk.options, params: asked })
  try {
    return await askedInRounds({ from: id, params, send, ask: talk.ask, signal })
  } catch (error) {
    if (!(error instanceof KiwiError)) throw error
    const { code, hint, retryable } = error
    throw new KiwiError(code, textOf(redact(error.message)), { hint, retryable, cause: error })
  }
}

/** How each command ended, in order; null for one that was not started. */
function stepsOf({ commands, line }: LineDraft, codes: LineResult['return_codes']): JsonObject {
  const all = line.steps.flatMap(({ programs }, at) => programs.map((_, stage) => codes[at]?.[stage] ?? null))
  return { steps: commands.map(({ argv }, at) => ({ argv: [...argv], return_code: all[at] ?? null })) }
}

/** Puts on disk what the program needs: what is built may need the tool's files, or hold them. */
async function prepareCommand(
  plan: Plan,
  effect: CommandDraft,
  { workFolders, environments }: PerformMeans,
  watch: Watch,
): Promise<Command> {
  const { environment, workRoot } = effect
  const place = async (): Promise<string | null> =>
    plan.hasFiles ? workFolders.prepare(plan.item, workRoot) : null
  const early = environment?.holdsFiles === true ? null : await place()
  const prepared = async (bundle: Bundle | null): Promise<string | null> =>
    bundle === null ? null : workFolders.prepare(bundle)
  const runtimeFolder = await prepared(effect.runtime)
  if (environment !== null)
    await environments.prepare(environment, { workFolder: early, runtimeFolder }, watch)
  return effect.inFolders({
    workFolder: environment?.holdsFiles === true ? await place() : early,
    runtimeFolder,
    libraryFolder: await prepared(effect.library),
  })
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

function redacted<T extends object>(result: T, redact: Draft['redact'], isCut: boolean): T {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- results are JSON, and redacting keeps their shape
  return redact(result as unknown as JsonValue, isCut) as unknown as T
}
