import type { ItemRef } from '../shared/ids.ts'
import { nearest } from '../shared/nearest.ts'
import type { Lookup } from './lookup.ts'

/** What somebody may have meant by an id that is not there: tools of servers, and the server they may be of. */
export interface Meant {
  readonly ids: readonly string[]
  readonly server: string | null
  /** What stands where the name of the tool should. */
  readonly tool: string
}

/** `everything/echo`, `mcp__everything__echo`, `Everything.Echo`, `everthing.echo`, or the tool alone. */
export async function meantBy(
  { name, category }: ItemRef,
  lookup: Pick<Lookup, 'servers' | 'toolNames'>,
): Promise<Meant> {
  const [said = '', ...rest] = spoken(category === null ? name : `${category}.${name}`).split('.')
  const servers = await lookup.servers()
  // Some put the name of the server in front of a tool that stands below it already.
  const own = rest.length > 1 && rest[0] === said ? rest.slice(1) : rest
  const tool = rest.length === 0 ? said : own.join('.')
  const near = nearest(
    said,
    servers.map((server) => server.name),
  )
  const among =
    rest.length === 0 ? servers : near.flatMap((one) => servers.filter((server) => server.name === one))
  const found = await Promise.all(
    among.map(async (server) => {
      const names = await lookup.toolNames(server)
      return nearest(tool, names).map((each) => `${server.name}.${each}`)
    }),
  )
  return {
    ids: found.flat().slice(0, MOST),
    server: rest.length === 0 ? null : (near[0] ?? null),
    tool,
  }
}

const MOST = 3

function spoken(text: string): string {
  return text
    .replace(/^mcp__(.+?)__/, '$1.')
    .replace(/^mcp[_/.](?=.)/, '')
    .replace('/', '.')
}
