import { STORED, embeddedPlaces } from '../meta/by-meaning.ts'
import type { VectorSearch } from '../search/vector-search.ts'
import { messageOf } from '../shared/errors.ts'
import type { IndexedSpace } from '../store/store.ts'
import type { Finding } from './finding.ts'
import { isTrusted } from './trust.ts'
import type { Session } from './with-kiwi.ts'

/** How far the making of vectors has come: by the embedder that the person has set, or by the reader that is shipped. */
export async function vectorFindings(
  session: Pick<Session, 'kiwi' | 'project'>,
  places: readonly IndexedSpace[],
): Promise<readonly Finding[]> {
  const { kiwi, project } = session
  const { embedder } = kiwi.config.search
  if (kiwi.vectors === null) return []
  if (embedder === null) return [await readFinding(kiwi.vectors, places)]
  const name = 'embedder'
  try {
    const lookup = kiwi.spaces.at(project)
    const sent = await embeddedPlaces(places, lookup, { isTrusted: () => isTrusted(session) })
    const { texts, made, failure } = await kiwi.vectors.state(sent)
    const detail = `${embedder}: ${made} of ${texts} texts have a vector`
    if (failure !== null)
      return [{ name, state: 'warn', detail: `${detail}; last: ${failure.error}`, fix: againAt(failure) }]
    if (made === texts) return [{ name, state: 'ok', detail }]
    return [{ name, state: 'warn', detail, fix: 'They are made while searches run: search, and look again' }]
  } catch (error) {
    const fix = `Correct search.embedder in ${kiwi.config.file}`
    return [{ name, state: 'warn', detail: messageOf(error), fix }]
  }
}

/** It goes on with every search, so what it has not read yet is nothing to mend. */
async function readFinding(vectors: VectorSearch, places: readonly IndexedSpace[]): Promise<Finding> {
  const { texts, made } = await vectors.state([...STORED, ...places])
  return { name: 'reader', state: 'ok', detail: `${made} of ${texts} texts are read` }
}

function againAt({ retryAt }: { readonly retryAt: number }): string {
  return `kiwi audit --operation search.embed says more; it is tried again from ${new Date(retryAt).toISOString()} on`
}
