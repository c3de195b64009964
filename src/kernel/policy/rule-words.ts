import { join } from 'node:path'
import type { Match, Rule, ToolMatch } from './rule.ts'

/** A rule as a line for whoever is held to it: `allow tool git.status`. */
export function ruleWords({ effect, op, match }: Rule): string {
  return `${effect} ${op} ${matchWords(match)}`
}

/** Kinds that no directive can write are named alone. */
function matchWords(match: Match): string {
  if (match.kind === 'any') return '*'
  if (match.kind === 'tool') return toolWords(match)
  if (match.kind === 'path') return match.globs.map((glob) => join(match.root, glob)).join(', ')
  if (match.kind === 'prefix') return match.words.join(' ')
  if (match.kind === 'command') return match.patterns.join(', ')
  if (match.kind === 'host')
    return [...(match.methods === undefined ? [] : [match.methods.join('|')]), match.hosts.join(', ')].join(
      ' ',
    )
  if ('names' in match) return match.names.join(', ')
  return 'paths' in match ? match.paths.join(', ') : match.kind
}

function toolWords({ server, tools = ['*'], types, actions = ['run'] }: ToolMatch): string {
  const named = tools.map((tool) => (typeof server === 'string' ? `${server}.${tool}` : tool)).join(', ')
  const of = types === undefined ? '' : ` (${types.join(', ')})`
  return actions.join() === 'run' ? `${named}${of}` : `${named}${of}: ${actions.join(', ')}`
}
