import { isObject } from '../shared/json.ts'

/**
 * A tool of a server may be called by the server, with the name of the tool among the parameters: that is the call of
 * `server.tool`, to be judged, recorded and answered as such. Anything else stays as it is.
 */
export function asSpoken(args: unknown): unknown {
  if (!isObject(args)) return args
  const { item_type: type, action, item_id: server, parameters, ...rest } = args
  const isCall = type === 'mcp' && (action === 'call' || action === 'run')
  if (!isCall || typeof server !== 'string' || !isObject(parameters)) return args
  const { tool, ...given } = parameters
  if (typeof tool !== 'string' || tool.trim() === '' || server.includes('.')) return args
  return { ...rest, item_type: 'tool', action, item_id: `${server}.${tool}`, parameters: given }
}
