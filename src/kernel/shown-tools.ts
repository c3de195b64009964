import type { Performed } from '../chain/perform.ts'
import type { JsonObject } from '../shared/json.ts'
import { shownDefinition } from '../spaces/definitions/shown-definition.ts'
import type { Server } from '../spaces/listed.ts'
import { itemJudge } from './item-demand.ts'
import type { Asker } from './listings.ts'
import type { Policy } from './policy/policy.ts'

/** What a client that sees a server whole is shown of its tools: those that somebody could call, as a person wants them shown. */
export async function shownTools(server: Server, policy: Policy, asker: Asker): Promise<Performed> {
  const { lookup, means } = asker
  const { listings, store } = means
  if (listings?.isCurrent(server.item, await lookup.listing(server.key)) === false)
    await listings.list(server, asker)
  const listed = await store.catalog.tools(server.key)
  const names = new Set(listed.map(({ name }) => name))
  const judge = itemJudge(policy)
  const tools = listed.flatMap((tool): readonly JsonObject[] => {
    const { name, raw, state } = tool
    const shown = state === 'usable' ? server.overrides.show(raw, names) : null
    if (shown === null) return []
    const refusal = judge.refusalOf({
      id: `${server.name}.${shown.name}`,
      type: 'mcp_tool',
      space: 'mcp',
      executor: server.item.id,
      config: { mcp_tool_name: name },
      category: null,
    })
    return refusal === null ? [shownDefinition(tool, shown.definition).definition] : []
  })
  return { data: { tools }, warnings: [] }
}
