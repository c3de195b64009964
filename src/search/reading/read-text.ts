import type { EmbedOrder } from '../embedder.ts'
import { openNetwork } from './network.ts'
import { openCut } from './pieces.ts'
import { readWeights } from './weights.ts'

/** Makes a vector of a text that is read as a whole, so that a word counts for what it means beside the others. */
export type ReadText = (kind: EmbedOrder['kind'], text: string) => Float32Array

export async function openReadText(file: string): Promise<ReadText> {
  const weights = await readWeights(file)
  const cut = openCut(weights.placeOf)
  const network = openNetwork(weights)
  return (kind, text) => network(cut(kind === 'document' ? withName(text) : text, weights.positions))
}

/** An item begins with its name, which is read as the words it was put together from: `list_openIssues` as `list open Issues`. */
function withName(text: string): string {
  const end = Math.max(0, text.indexOf('. '))
  const name = text
    .slice(0, end)
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .replaceAll(/[_./-]+/g, ' ')
  return `${name}${text.slice(end)}`
}
