import type { RelayOrder, Ticket } from '../kernel/call.ts'
import { plainName, serverName } from '../shared/groups.ts'
import type { JsonObject } from '../shared/json.ts'
import type { Redact } from '../shared/redact.ts'
import { textOf } from '../shared/template.ts'
import { withoutMeta } from '../shared/without-meta.ts'

/** A request of a client that sees one server whole. */
export interface RelayRequest extends Omit<RelayOrder, 'server'> {
  /** As people say it. */
  readonly server: string
}

/** How a request that is passed on is recorded: by its method, without what goes along with every request. */
export function relayRecord(
  { server, method, params }: RelayRequest,
  redact: Redact,
): Pick<Ticket, 'operation' | 'subject' | 'parameters'> {
  const isCall = method === 'tools/call'
  const tool = isCall && typeof params['name'] === 'string' ? `.${params['name']}` : ''
  return {
    operation: `mcp.${(method ?? 'describe').slice(0, 64)}`,
    // Never by the name of a group of ours, which is not passed on to.
    subject: textOf(redact(serverName(`mcp_${plainName(server)}`) + tool)).slice(0, 256),
    parameters: isCall ? params['arguments'] : othersIn(params),
  }
}

function othersIn(params: JsonObject): JsonObject {
  const { arguments: _, ...others } = withoutMeta(params)
  return others
}
