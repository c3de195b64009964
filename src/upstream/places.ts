import type { Place } from './place.ts'
import { createPlace } from './place.ts'
import type { StarterMeans } from './starter.ts'
import type { Upstream, UpstreamNotice } from './upstream.ts'

/** The places of all upstreams, by their keys; a bounded number of them open. */
export interface Places {
  of(upstream: Upstream): Place
  known(key: string): Place | undefined
  /** Called when one more is opened. */
  makeRoom(): void
  /** Closes and forgets one. */
  release(key: string): Promise<void>
  all(): readonly { readonly key: string; readonly id: string; readonly place: Place }[]
  close(): Promise<void>
}

interface PlacesMeans extends Omit<StarterMeans, 'onNotice'> {
  readonly onNotice: (notice: UpstreamNotice) => void
}

/** Beyond it those that nobody uses are closed, the longest unused first. */
const MOST_CONNECTIONS = 32
/** Of those that are closed as many are remembered. */
const MOST_PLACES = 256

export function openPlaces({ onNotice, ...means }: PlacesMeans): Places {
  const places = new Map<string, { readonly id: string; readonly place: Place }>()
  const closes = new Set<Promise<void>>()
  const all: Places['all'] = () => Array.from(places, ([key, known]) => ({ key, ...known }))

  const drop = (place: Place): void => {
    const closed = place.close().finally(() => closes.delete(closed))
    closes.add(closed)
  }

  return {
    of({ id, key }) {
      const known = places.get(key)
      if (known !== undefined) return known.place
      const place = createPlace({
        ...means,
        onNotice: (from, method, params) => onNotice({ key, id: from, method, params }),
      })
      places.set(key, { id, place })
      return place
    },
    known: (key) => places.get(key)?.place,
    makeRoom() {
      const oldest = all().toSorted((a, b) => a.place.usedAt - b.place.usedAt)
      const taken = oldest.filter(({ place }) => place.isTaken)
      const idle = taken.filter(({ place }) => place.isIdle)
      for (const { place } of idle.slice(0, Math.max(0, taken.length - MOST_CONNECTIONS))) drop(place)
      const closed = oldest.filter(({ place }) => !place.isTaken)
      for (const { key } of closed.slice(0, Math.max(0, oldest.length - MOST_PLACES))) places.delete(key)
    },
    async release(key) {
      const known = places.get(key)
      places.delete(key)
      await known?.place.close()
    },
    all,
    async close() {
      await Promise.all([...all().map(({ place }) => place.close()), ...closes])
      places.clear()
    },
  }
}
