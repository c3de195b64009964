import { compileMatch } from '../policy/match.ts'
import { decide } from '../policy/decide.ts'
import { ruleWords } from '../policy/rule-words.ts'
import type { Effect, Layer, Rule } from '../policy/rule.ts'
import { demandsOf, piecesOf } from './rule-pieces.ts'
import { coversPaths, narrowPaths, pathsOf, shownPaths } from './shown-paths.ts'

/** What the runs above leave of the rules of a directive. */
export interface Left {
  /** With what is denied above. */
  readonly rules: readonly Rule[]
  /** Grants of which nothing is left, or not all that is shown, with the layer that says so. */
  readonly warnings: readonly string[]
}

/** What is left of the rules of a directive under the layers of the runs that it is begun in: the rest would be refused. */
export function leftUnder(rules: readonly Rule[], above: readonly Layer[]): Left {
  if (above.length === 0) return { rules, warnings: [] }
  const warnings: string[] = []
  const left = rules.flatMap((rule) => {
    let some: readonly Rule[] = [rule]
    for (const layer of above) {
      const before = some
      some = before.flatMap((one) => withinLayer(one, layer))
      if (before.length > 0 && some.length === 0 && !isToldElsewhere(rule))
        warnings.push(
          `"${ruleWords(rule)}" is left out: the layer "${layer.name}" of a run above does not grant it`,
        )
      else if (!some.every((one) => isHeld(one, layer)))
        warnings.push(
          `"${ruleWords(rule)}" holds only as far as the layer "${layer.name}" of a run above grants it`,
        )
    }
    return some
  })
  const denied = above.flatMap((layer) => layer.rules.filter(({ effect }) => effect === 'deny'))
  return { rules: [...left, ...denied], warnings }
}

/** Of programs and items that are named, and of the tools for files and the shell, is said where they are shown. */
function isToldElsewhere({ op, match }: Rule): boolean {
  if (op === 'exec') return match.kind !== 'program' || !match.names.some(isPattern)
  if (op !== 'tool' || match.kind !== 'tool') return false
  if (match.server === 'filesystem' || match.server === 'shell') return true
  return match.server === null && match.types === undefined && match.tools?.some(isPattern) === false
}

function isPattern(name: string): boolean {
  return /[*?]/.test(name)
}

/** Where neither pattern holds the other, what is shown of them may be more than what both let pass. */
function isHeld({ op, effect, match }: Rule, { rules }: Layer): boolean {
  if (effect === 'deny' || (op !== 'read' && op !== 'write')) return true
  const wide = shownPaths(rules, op)
  return pathsOf(match).every((path) => wide.some((other) => coversPaths(other, path)))
}

function withinLayer(rule: Rule, layer: Layer): readonly Rule[] {
  const { op, effect } = rule
  if (effect === 'deny') return [rule]
  if (op === 'read' || op === 'write') return pathsWithin(rule, op, layer)
  const pieces = piecesOf(rule)
  const left = pieces.flatMap((piece) => pieceWithin(piece, layer))
  const isWhole = left.length === pieces.length && left.every((one, at) => one === pieces[at])
  return isWhole ? [rule] : left
}

function pathsWithin(rule: Rule, op: 'read' | 'write', { rules }: Layer): readonly Rule[] {
  const own = pathsOf(rule.match)
  const of = (effect: Effect): readonly string[] =>
    rules.filter((one) => one.op === op && one.effect === effect).flatMap(({ match }) => pathsOf(match))
  const [denied, asked] = [of('deny'), of('ask')]
  return (['allow', 'ask'] as const).flatMap((effect): readonly Rule[] => {
    const stricter = effect === 'allow' ? [...denied, ...asked] : denied
    const globs = narrowPaths(own, of(effect)).filter(
      (path) => !stricter.some((other) => coversPaths(other, path)),
    )
    if (globs.length === 0) return []
    const said = strictest(rule.effect, effect)
    if (said === rule.effect && globs.join() === own.join()) return [rule]
    return [{ ...rule, effect: said, match: { kind: 'path', root: '/', globs } }]
  })
}

/** All of it, or what the layer grants within it; and what the layer asks about within it. */
function pieceWithin(piece: Rule, layer: Layer): readonly Rule[] {
  const { op, effect } = piece
  const said = decide([layer], demandsOf(piece), null).effect
  const isWithin = compileMatch(piece.match, new Map())
  const theirs = layer.rules
    .filter((rule) => rule.op === op && rule.effect === (said === 'allow' ? 'ask' : rule.effect))
    .filter((rule) => rule.effect !== 'deny')
    .flatMap(piecesOf)
    .filter((one) => demandsOf(one).every(isWithin))
    .map((one) => ({ ...one, effect: strictest(effect, one.effect) }))
  if (said === 'deny') return theirs
  const all = strictest(effect, said)
  if (all === 'ask') return [effect === all ? piece : { ...piece, effect: all }]
  return [piece, ...theirs]
}

function strictest(one: Effect, other: Effect): Effect {
  return one === 'ask' || other === 'ask' ? 'ask' : 'allow'
}
