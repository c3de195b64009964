import { describe, expect, test } from 'vitest'
import { openStopper } from './stop.ts'
import { unlessStopped } from './unless-stopped.ts'

const left = (): Error => new Error('left')

describe('M3: work that several wait for', () => {
  test('M3: whoever stops leaves at once, and the others get the result', async () => {
    let end: (result: string) => void = () => undefined
    const work = new Promise<string>((resolve) => (end = resolve))
    const [first, second] = [openStopper(), openStopper()]
    const waiting = [first, second].map(({ signal }) => unlessStopped(() => work, signal, left))
    const unwatched = unlessStopped(() => work, undefined, left)
    first.abort()
    await expect(waiting[0]).rejects.toThrow('left')
    end('done')
    expect(await Promise.all([waiting[1], unwatched])).toEqual(['done', 'done'])
    second.abort()
    expect(await waiting[1]).toBe('done')
  })

  test('M3: who has stopped already begins nothing, and a failure of the work is one for all', async () => {
    const gone = openStopper()
    gone.abort()
    let begun = 0
    const join = (): Promise<never> => {
      begun += 1
      return Promise.reject(new Error('broken'))
    }
    await expect(unlessStopped(join, gone.signal, left)).rejects.toThrow('left')
    expect(begun).toBe(0)
    await expect(unlessStopped(join, openStopper().signal, left)).rejects.toThrow('broken')
    await expect(unlessStopped(join, undefined, left)).rejects.toThrow('broken')
  })
})
