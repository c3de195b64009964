import type { JsonObject } from '../../shared/json.ts'
import type { WantedServer } from '../../spaces/directive/model.ts'
import { harnessMode } from './harness-mode.ts'
import type { Scene } from './scene.ts'

/** What the directive itself says of a server. */
export function aboutOf({ why, alias }: WantedServer): JsonObject {
  return { ...(why === '' ? {} : { why }), ...(alias === null ? {} : { alias }) }
}

/** Only where a person lets agents have servers of their own is a server called past Kiwi. */
export function directly(
  { name, proxy }: WantedServer,
  { policy, directive }: Scene,
): { entry: JsonObject; warnings: string[] } {
  if (proxy) return { entry: {}, warnings: [] }
  const mode = harnessMode(policy)
  if (mode === 'direct' || mode === 'hybrid') return { entry: { proxy: false }, warnings: [] }
  const why = 'agent_harness.yaml says neither direct nor hybrid, so its calls go through Kiwi'
  return {
    entry: {},
    warnings: [
      `${directive.dialect === 'xml' ? 'proxy="false"' : '"proxy: false"'} of "${name}" is ignored: ${why}`,
    ],
  }
}
