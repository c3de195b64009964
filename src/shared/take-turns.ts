import { setImmediate } from 'node:timers/promises'

/** How long work goes on before others get a turn. */
const TURN_MS = 10

/** To be awaited between the parts of long work: lets others have a turn when one has lasted long enough. */
export function openTurns(): () => Promise<void> {
  let since = performance.now()
  return async () => {
    if (performance.now() - since < TURN_MS) return
    await setImmediate()
    since = performance.now()
  }
}
