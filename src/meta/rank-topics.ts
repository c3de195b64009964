import { stemOf } from '../search/stem.ts'
import { isTelling } from '../search/telling.ts'

/** A topic of the help, with the words it is known by and its text. */
export interface Topic {
  readonly name: string
  readonly head: string
  readonly text: string
}

/** A word that stands in the head of a topic says more than one in its text. */
const HEAD = 3
/** After so many a word says little more by standing there again. */
const ENOUGH = 1.5

/**
 * The topics that a question is about, best first: weighed among themselves, so that nothing else that is indexed has a
 * say. None for a question that shares no telling word with any.
 */
export function rankTopics(question: string, topics: readonly Topic[]): readonly string[] {
  const asked = [...new Set(termsOf(question))]
  const heads = topics.map(({ head }) => termsOf(head))
  const texts = topics.map(({ text }) => termsOf(text))
  return topics
    .map(({ name }, at) => ({
      name,
      score: asked.reduce((sum, term) => sum + HEAD * weigh(heads, at, term) + weigh(texts, at, term), 0),
    }))
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score || (a.name < b.name ? -1 : 1))
    .map(({ name }) => name)
}

/** What a term says for one of all texts. */
function weigh(all: readonly (readonly string[])[], at: number, term: string): number {
  const count = all[at]?.filter((one) => one === term).length ?? 0
  if (count === 0) return 0
  const holders = all.filter((one) => one.includes(term)).length
  // What stands in most of them tells nothing.
  const rarity = Math.max(0, Math.log((all.length - holders + 0.5) / (holders + 0.5)))
  return (rarity * count) / (count + ENOUGH)
}

/** Its telling words without their endings; a name such as `run_id` also counts as a whole. */
function termsOf(text: string): readonly string[] {
  const lower = text.toLowerCase()
  const names = lower.match(/[a-z0-9]+(?:_[a-z0-9]+)+/g) ?? []
  const words = lower.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== '' && isTelling(word))
  return [...words.map(stemOf), ...names]
}
