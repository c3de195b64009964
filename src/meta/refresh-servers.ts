import { messageOf } from '../shared/errors.ts'
import type { Lookup } from '../spaces/lookup.ts'
import type { MetaCall } from './context.ts'

/**
 * Has servers asked that were never listed, or too long ago, while nobody waits for it. Says which of them a search
 * cannot know of yet, and which it leaves out because they could not be asked.
 */
export async function refreshServers(
  lookup: Lookup,
  only: string | null,
  { project_path: projectPath }: { readonly project_path?: string | undefined },
  { kernel, ticket, workplaceAt }: MetaCall,
): Promise<readonly string[]> {
  const servers = (await lookup.servers()).filter(({ name }) => only === null || name === only)
  if (servers.length === 0) return []
  const said: string[] = []
  try {
    const listings = await kernel.listingsFor(ticket, await workplaceAt(projectPath))
    for (const server of servers) {
      if (await listings.isCurrent(server)) continue
      const isKnown = (await lookup.listing(server.key)) !== null
      const failure = listings.refresh(server)
      if (failure !== null) said.push(`"${server.name}" is left out: ${failure}`)
      else if (!isKnown)
        said.push(
          `"${server.name}" was never listed: it is being asked what it has, search again in a moment`,
        )
    }
  } catch (error) {
    said.push(`servers are not asked what they have: ${messageOf(error)}`)
  }
  return said
}
