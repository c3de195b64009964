import { join } from 'node:path'
import { readFile } from 'node:fs/promises'
import { serverName } from '../shared/groups.ts'
import { isJsonObject } from '../shared/json.ts'
import { textOf } from '../shared/template.ts'
import { parseDocument } from '../spaces/parse-document.ts'
import type { Finding } from './finding.ts'
import type { KnownServer } from './known-servers.ts'
import { knownServers } from './known-servers.ts'
import type { Session } from './with-kiwi.ts'

/** What stands in the way of each server, and which of them are packages that are called otherwise now. */
export async function serverFindings(
  session: Session,
  only: string | null = null,
): Promise<readonly Finding[]> {
  const { servers } = await knownServers(session)
  const renamed = await renamedPackages(join(session.kiwi.consoleFolder, '..', 'config', 'mcp-packages.yaml'))
  return servers
    .filter(({ name }) => only === null || name === serverName(only))
    .flatMap((server) => [findingOf(server), ...oldPackages(server, renamed)])
}

function findingOf({ name, enabled, problem, last_error, tools, transport, path }: KnownServer): Finding {
  const finding = { name: 'server' }
  if (!enabled) return { ...finding, state: 'ok', detail: `${name} is switched off` }
  if (problem !== null) return { ...finding, state: 'warn', detail: problem.message, fix: problem.fix }
  if (last_error !== null)
    return {
      ...finding,
      state: 'warn',
      detail: last_error,
      fix: `Look at ${path ?? name}, then call it again`,
    }
  const known = tools === null ? 'not asked yet' : `${tools} tools`
  return { ...finding, state: 'ok', detail: `${name}, ${transport}: ${known}` }
}

function oldPackages({ name, words }: KnownServer, renamed: ReadonlyMap<string, string>): readonly Finding[] {
  return words.flatMap((word): readonly Finding[] => {
    const old = word.replace(/(?<=.)@[^/]*$/, '')
    const current = renamed.get(old)
    if (current === undefined) return []
    const detail = `${name} starts ${old}, which is called ${current} now`
    return [{ name: 'server', state: 'warn', detail, fix: `Write ${current} in its place` }]
  })
}

async function renamedPackages(path: string): Promise<ReadonlyMap<string, string>> {
  const { renamed } = await parseDocument(await readFile(path, 'utf8'), path)
  return new Map(
    Object.entries(isJsonObject(renamed) ? renamed : {}).map(([old, name]) => [old, textOf(name)]),
  )
}
