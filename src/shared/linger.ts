import { availableParallelism } from 'node:os'
import type { Clock } from './clock.ts'
import { systemClock } from './clock.ts'

/** Stays awake a moment for what nearly always comes at once: to be woken takes longer than a small call. */
export interface Linger {
  /** From here on something is waited for. */
  begin(): void
  /** It is there. */
  end(): void
}

interface LingerMeans {
  readonly clock: Pick<Clock, 'monotonic'>
  /** Goes on when everything else had its turn. */
  readonly nextTurn: (goOn: () => void) => void
  readonly processors: number
}

/** Milliseconds: what usually takes longer is slept through. */
const LONGEST = 0.2
/** It is stayed awake for so many times what it usually takes. */
const AND_A_BIT = 1.5
/** What takes longer says no more than this, so that a few quick ones in a row count again. */
const SLOW = 2
/** How much the last one says of what is usual. */
const SHARE = 0.25

const SYSTEM: LingerMeans = {
  clock: systemClock,
  nextTurn: (goOn) => void setImmediate(goOn),
  processors: availableParallelism(),
}

/** For one partner who answers, or asks again. Who usually takes long is never stayed awake for. */
export function openLinger({ clock, nextTurn, processors }: LingerMeans = SYSTEM): Linger {
  let usual = SLOW
  let begun: number | null = null
  let until = 0
  let isAwake = false
  const stay = (): void => {
    isAwake = begun !== null && clock.monotonic() < until
    if (isAwake) nextTurn(stay)
  }
  return {
    begin() {
      begun = clock.monotonic()
      // The partner needs a processor, too.
      if (usual > LONGEST || processors === 1) return
      until = begun + AND_A_BIT * usual
      if (isAwake) return
      isAwake = true
      nextTurn(stay)
    },
    end() {
      if (begun === null) return
      usual += SHARE * (Math.min(SLOW, clock.monotonic() - begun) - usual)
      begun = null
    },
  }
}
