import { existsSync } from 'node:fs'
import { GROUPS, serverName } from '../../shared/groups.ts'
import { ItemName } from '../../shared/ids.ts'
import type { Lookup } from '../../spaces/lookup.ts'
import { ruleWords } from '../policy/rule-words.ts'
import type { Rule } from '../policy/rule.ts'

/** Grants that fit nothing that is there: a server, a tool of one, an item, or the folder of a path that is read. */
export async function unmatchedGrants(rules: readonly Rule[], lookup: Lookup): Promise<readonly string[]> {
  const granted = rules.filter(({ effect }) => effect !== 'deny')
  const found = await Promise.all(
    granted.map(async (rule) => {
      const absences = await absencesOf(rule, lookup)
      return absences.map((absence) => `"${ruleWords(rule)}" grants nothing yet: ${absence}`)
    }),
  )
  return [...new Set(found.flat())]
}

async function absencesOf({ op, match }: Rule, lookup: Lookup): Promise<readonly string[]> {
  if (op === 'read' && match.kind === 'path')
    return existsSync(match.root) ? [] : [`there is no "${match.root}"`]
  if (op === 'read' && match.kind === 'under')
    return match.paths.filter((path) => !existsSync(path)).map((path) => `there is no "${path}"`)
  if (op !== 'tool' || match.kind !== 'tool' || match.types !== undefined) return []
  const { server, tools = [], actions = ['run'] } = match
  if (!actions.includes('run')) return []
  const named = tools.filter((tool) => !/[*?]/.test(tool))
  if (server === null) return itemsAbsent(named, lookup)
  return server === undefined || /[*?]/.test(server) ? [] : toolsAbsent(server, named, lookup)
}

async function itemsAbsent(ids: readonly string[], lookup: Lookup): Promise<readonly string[]> {
  const absent = await Promise.all(
    ids.map(async (id) => {
      const name = ItemName.safeParse(id)
      // With a slash it is a category, with a dot it may be a tool of a server, of which another rule speaks.
      if (!name.success || id.includes('.')) return []
      const item = await lookup
        .find({ name: name.data, category: null, version: null }, 'tool')
        .catch(() => null)
      return item === null ? [`there is no "${id}" here`] : []
    }),
  )
  return absent.flat()
}

async function toolsAbsent(
  server: string,
  tools: readonly string[],
  lookup: Lookup,
): Promise<readonly string[]> {
  if (GROUPS.some((group) => group === server)) return []
  const known = await lookup.serverFor(server)
  if (known === null) return [`there is no server "${serverName(server)}": kiwi add ${serverName(server)}`]
  // Of a server that was never asked, nobody knows what it has.
  if ((await lookup.listing(known.key)) === null) return []
  const names = await lookup.toolNames(known)
  return tools.filter((tool) => !names.includes(tool)).map((tool) => `"${server}" has no tool "${tool}"`)
}
