import type { JsonObject } from '../shared/json.ts'

/** Passes on what an upstream tells without being asked: the first at once, then what came meanwhile once a second, each thing once. */
export interface Notices {
  add(method: string, params: JsonObject, deliver: Deliver): void
  close(): void
}

export type Deliver = (method: string, params: JsonObject) => void

const GAP_MS = 1000
/** Of more different ones within a second the oldest are dropped. */
const MOST_HELD = 64

export function openNotices(gapMs = GAP_MS): Notices {
  const held = new Map<string, () => void>()
  let timer: NodeJS.Timeout | undefined

  const flush = (): void => {
    timer = undefined
    if (held.size === 0) return
    const due = [...held.values()]
    held.clear()
    rest()
    for (const deliver of due) deliver()
  }
  const rest = (): void => {
    timer = setTimeout(flush, gapMs).unref()
  }

  return {
    add(method, params, deliver) {
      if (timer === undefined) {
        rest()
        deliver(method, params)
        return
      }
      const name = `${method} ${JSON.stringify(params)}`
      held.delete(name)
      held.set(name, () => deliver(method, params))
      const [oldest] = held.keys()
      if (held.size > MOST_HELD && oldest !== undefined) held.delete(oldest)
    },
    close() {
      clearTimeout(timer)
      timer = undefined
      held.clear()
    },
  }
}
