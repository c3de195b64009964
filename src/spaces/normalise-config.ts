import { isObject } from '../shared/json.ts'
import type { ToolType } from '../shared/tool-type.ts'

/** Old and foreign spellings of config keys with the one Kiwi uses, and the type of tool they were written for. */
const CONFIG_ALIASES: readonly (readonly [string, string, ToolType])[] = [
  ['timeout_default', 'timeout', 'runtime'],
  ['shell', 'command', 'runtime'],
  ['response_path', 'response_transform', 'api'],
  ['mcp_tool', 'mcp_tool_name', 'mcp_tool'],
  ['tool_name', 'mcp_tool_name', 'mcp_tool'],
]
/** What a server is started or reached by, when a tool brings it along. */
const SERVER_KEYS = ['transport', 'command', 'args', 'env', 'url', 'headers', 'auth', 'cwd'] as const

/** The config of a manifest in one spelling; whatever is no object is left for the check. */
export function normaliseConfig(
  { config: given = {}, env_config }: Readonly<Record<string, unknown>>,
  toolType: unknown,
): unknown {
  if (!isObject(given)) return given
  const config: Record<string, unknown> = { ...given }
  for (const [alias, key, type] of CONFIG_ALIASES) {
    if (type !== toolType || !(alias in config)) continue
    if (!(key in config)) config[key] = config[alias]
    delete config[alias]
  }
  if (isObject(config['retry'])) takeRetry(config, config['retry'])
  if (isObject(env_config) && isObject(env_config['env'])) {
    config['env'] = { ...env_config['env'], ...(isObject(config['env']) ? config['env'] : {}) }
  }
  return toolType === 'mcp_tool' ? withServer(config) : config
}

function takeRetry(config: Record<string, unknown>, retry: Readonly<Record<string, unknown>>): void {
  delete config['retry']
  if (typeof retry['max_attempts'] === 'number') config['retries'] ??= retry['max_attempts'] - 1
  if (typeof retry['backoff'] === 'number') config['retry_delay'] ??= retry['backoff']
}

/** A container that is started by a command of its image, and not by a script of the tool. */
export function isContainerCommand(config: unknown): config is Record<string, unknown> {
  return isObject(config) && ('command' in config || 'args' in config)
}

/** The command is the container's, and not the program that starts it. */
export function containerConfig({ command, args, ...rest }: Readonly<Record<string, unknown>>): unknown {
  const given: readonly unknown[] = Array.isArray(args) ? args : args === undefined ? [] : [args]
  return { ...rest, container_args: [...(command === undefined ? [] : [command]), ...given] }
}

/** A server that is written into its tool is kept apart from what is the tool's own. */
function withServer(config: Record<string, unknown>): Record<string, unknown> {
  if (!('command' in config || 'url' in config)) return config
  const server: Record<string, unknown> = { transport: 'stdio' }
  for (const key of SERVER_KEYS) {
    if (key in config) server[key] = config[key]
    delete config[key]
  }
  return { ...config, server }
}
