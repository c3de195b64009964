import type { Draft } from '../chain/draft.ts'
import type { UpstreamDraft } from '../chain/draft-upstream.ts'
import type { EnvironmentDraft } from '../chain/environment-draft.ts'
import type { LineDraft } from '../chain/shell/draft-line.ts'
import { TRUST_NAMES } from '../chain/trust.ts'
import type { JsonObject } from '../shared/json.ts'
import { RAW } from './policy/match.ts'

/** What would happen, without values that could be secret: as it was given, or with every argument. */
export function runPreview({ plan, effect, redact, hold }: Draft, isWhole: boolean): JsonObject {
  return {
    executor_chain: plan.chain,
    tool_type: plan.item.manifest.tool_type,
    trust: { level: plan.trust.level, name: TRUST_NAMES[plan.trust.level] },
    ...(hold === null ? {} : { sandbox: hold.shown }),
    ...effectPreview(effect, redact, isWhole),
  }
}

function buildPreview(environment: EnvironmentDraft | null): JsonObject {
  if (environment === null || environment.builder === null) return {}
  const { isCompiled, packages, builder } = environment
  return isCompiled
    ? { would_compile_with: builder.programs }
    : { would_install: packages, would_build_with: builder.programs }
}

/** What data adds to every command of a program is the same each time, and would hide the rest. */
const FIXED = { with: "Kiwi's fixed options" }

function linePreview({ line, commands }: LineDraft, isWhole: boolean): JsonObject {
  const started = line.steps.flatMap(({ programs }) =>
    programs.map(({ command, args }) => [command, ...args]),
  )
  const given = commands.map(({ program, argv }) => [program, ...argv.slice(1)])
  // A script is shown with the shell that it is handed to.
  if (isWhole || commands.some(({ program }) => program === RAW)) return { commands: started }
  return { commands: given, ...(started.flat().length === given.flat().length ? {} : FIXED) }
}

/** The host is enough to judge by; an address may hold what is nobody's business. */
function reached(server: UpstreamDraft['server']): JsonObject {
  return server.kind === 'stdio' ? {} : { host: new URL(server.request.url).host }
}

function effectPreview(effect: Draft['effect'], redact: Draft['redact'], isWhole: boolean): JsonObject {
  switch (effect.kind) {
    case 'content':
      return {}
    case 'subprocess': {
      const { command, args, cwd, env } = effect.command
      return {
        ...buildPreview(effect.environment),
        would_run: {
          command,
          args: redact(isWhole ? args : effect.given),
          ...(isWhole || args.length === effect.given.length ? {} : FIXED),
          cwd,
          env: Object.keys(env).toSorted(),
        },
      }
    }
    case 'mcp':
      return {
        would_call: { server: effect.served.item.id, tool: effect.toolName, ...reached(effect.server) },
      }
    case 'line':
      return { would_run: { ...linePreview(effect, isWhole), cwd: effect.folder.path } }
    case 'http_client': {
      const { method, url, headers } = effect.request
      return {
        would_send: {
          method,
          url: redact(url),
          headers: Object.keys(headers).toSorted(),
          retries: effect.request.retries,
        },
      }
    }
  }
}
