import { sha256 } from '../../shared/json.ts'
import type { Lookup } from '../../spaces/lookup.ts'
import type { SearchHit } from '../../store/store.ts'
import type { MetaCall } from '../context.ts'
import { usableHits } from './list-items.ts'
import { hashAt } from './resources.ts'

/** What clients were shown of a project, in marks that change when it does. */
export interface Outlook {
  /** Another with everything that may have changed; only then are the others worth comparing. */
  readonly generation: string
  readonly prompts: string
  readonly resources: string
  /** By the address of a resource; null when it is not there. */
  readonly read: ReadonlyMap<string, string | null>
}

export interface Glance {
  /** Resources to look at. */
  readonly uris: readonly string[]
  /** What was seen last: null is given back when nothing has happened since. */
  readonly after: string | null
  /** Looks at the files now; otherwise only at what calls have seen meanwhile. */
  readonly isFresh: boolean
}

/** Nothing of this is shown to anybody but that something is different. */
export async function lookOut(
  { uris, after, isFresh }: Glance,
  lookup: Lookup,
  call: Pick<MetaCall, 'kernel' | 'store'>,
): Promise<Outlook | null> {
  if (isFresh) await lookup.begin()
  // What people decided since leaves things out of lists, or lets them in.
  const { layers } = await call.kernel.policyOf(lookup.projectPath)
  const policy = layers.map(({ hash }) => hash).join(' ')
  if (`${lookup.generation} ${policy}` === after) return null
  const hits = await usableHits(['directive', 'knowledge'], lookup, call)
  const read = await Promise.all(
    uris.map(async (uri) => [uri, await hashAt(uri, lookup, call).catch(() => null)] as const),
  )
  return {
    generation: `${lookup.generation} ${policy}`,
    prompts: markOf(hits.filter(isDirective), ({ updated_at: time }) => time),
    resources: markOf(hits, () => ''),
    read: new Map(read),
  }
}

function isDirective({ tool_type: type }: SearchHit): boolean {
  return type === 'directive'
}

/** The inputs of a directive stand in no index, so any change of its file is one. */
function markOf(hits: readonly SearchHit[], more: (hit: SearchHit) => string): string {
  const shown = hits.map((hit) => [
    hit.item_id,
    hit.tool_type,
    hit.name,
    hit.description,
    hit.path,
    more(hit),
  ])
  return sha256(JSON.stringify(shown))
}
