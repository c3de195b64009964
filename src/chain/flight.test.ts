import { describe, expect, test } from 'vitest'
import { systemClock } from '../shared/clock.ts'
import type { Progress } from '../shared/progress.ts'
import { openFlight } from './flight.ts'

/** Work that goes on until it is told to end, or is ended. */
function openWork(): {
  readonly flight: ReturnType<typeof openFlight>
  readonly say: (message: string) => void
  readonly end: (error?: Error) => void
  readonly isAborted: () => boolean
} {
  const talk: { say: (message: string) => void } = { say: () => undefined }
  const { promise, resolve, reject } = openEnd()
  let signal: AbortSignal | null = null
  const flight = openFlight(systemClock, (given, say) => {
    signal = given
    talk.say = say
    given.addEventListener('abort', () => reject(new Error('ended')))
    return promise
  })
  return {
    flight,
    say: (message) => talk.say(message),
    end: (error) => (error === undefined ? resolve() : reject(error)),
    isAborted: () => signal?.aborted === true,
  }
}

function openEnd(): { promise: Promise<void>; resolve: () => void; reject: (error: Error) => void } {
  let [resolve, reject] = [(): void => undefined, (_error: Error): void => undefined]
  const promise = new Promise<void>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
}

describe('C10: one piece of work for everybody who waits for it', () => {
  test('all hear what it says, and its seconds grow however fast it speaks', async () => {
    const { flight, say, end } = openWork()
    const heard: Progress[] = []
    const others: string[] = []
    const first = flight.join({ report: (progress) => heard.push(progress) })
    const second = flight.join({ report: ({ message }) => others.push(message) })
    await Promise.resolve()
    for (const message of ['one', 'one', 'two', 'three']) say(message)
    end()
    expect(await Promise.all([first, second])).toEqual([true, true])
    expect(others).toEqual(['one', 'two', 'three'])
    expect(heard.map(({ message }) => message)).toEqual(others)
    const seconds = heard.map((progress) => progress.seconds)
    expect(seconds).toEqual([...new Set(seconds)].toSorted((one, other) => one - other))
  })

  test('one who comes later hears at once what is being done', async () => {
    const { flight, say, end } = openWork()
    const first = flight.join({})
    await Promise.resolve()
    say('one')
    const heard: string[] = []
    const second = flight.join({ report: ({ message }) => heard.push(message) })
    expect(heard).toEqual(['one'])
    end()
    expect(await Promise.all([first, second])).toEqual([true, true])
  })

  test('one who goes away ends nothing; the last one does', async () => {
    const { flight, isAborted } = openWork()
    const [impatient, patient] = [new AbortController(), new AbortController()]
    const first = flight.join({ signal: impatient.signal })
    const second = flight.join({ signal: patient.signal })
    await Promise.resolve()
    impatient.abort()
    expect(await first).toBe(false)
    expect([isAborted(), flight.isLeft()]).toEqual([false, false])
    patient.abort()
    expect(await second).toBe(false)
    expect([isAborted(), flight.isLeft()]).toEqual([true, true])
  })

  test('who has gone already does not wait', async () => {
    const { flight } = openWork()
    expect(await flight.join({ signal: AbortSignal.abort() })).toBe(false)
  })

  test('its failure is the failure of everybody', async () => {
    const { flight, end } = openWork()
    const both = Promise.allSettled([flight.join({}), flight.join({})])
    end(new Error('no'))
    expect((await both).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    await flight.ended
  })
})
