import { join } from 'node:path'
import type { Match, Rule, ToolMatch } from './rule.ts'

/** A rule as a line for whoever is held to it: `allow tool git.status`. */
export function ruleWords({ effect, op, match }: Rule): string {
  return `${effect} ${op} ${matchWords(match)}`
}

function matchWords(match: Match): string {
  switch (match.kind) {
    case 'any':
      return '*'
    case 'fixed':
      return 'what a trusted manifest fixes'
    case 'program':
    case 'directive':
      return match.names.join(', ')
    case 'command':
      return match.patterns.join(', ')
    case 'prefix':
      return match.words.join(' ')
    case 'runs_code':
      return 'what runs code'
    case 'starts':
      return match.files.join(', ')
    case 'under':
    case 'around':
      return match.paths.join(', ')
    case 'path':
      return match.globs.map((glob) => join(match.root, glob)).join(', ')
    case 'host':
      return [match.methods?.join('|') ?? [], match.hosts.join(', ')].flat().join(' ')
    case 'tool':
      return toolWords(match)
  }
}

function toolWords({ server, tools = ['*'], types, actions = ['run'] }: ToolMatch): string {
  const named = tools.map((tool) => (typeof server === 'string' ? `${server}.${tool}` : tool)).join(', ')
  const of = types === undefined ? '' : ` (${types.join(', ')})`
  return actions.join() === 'run' ? `${named}${of}` : `${named}${of}: ${actions.join(', ')}`
}
