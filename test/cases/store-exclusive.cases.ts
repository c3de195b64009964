import { expect } from 'vitest'
import type { Cases } from './store-bed.ts'

export const exclusiveCases: Cases = {
  'what is done exclusively gives back what it gave, and throws what it threw': async (bed) => {
    const store = await bed.open()
    expect(await store.exclusively(() => 7)).toBe(7)
    const fault = Object.assign(new Error('no such file'), { code: 'ENOENT' })
    await expect(
      store.exclusively(() => {
        throw fault
      }),
    ).rejects.toBe(fault)
    expect(await store.exclusively(() => 'again')).toBe('again')
  },

  'several handles take turns': async (bed) => {
    const stores = await Promise.all([bed.open(), bed.open(), bed.open()])
    let count = 0
    const turns = stores.flatMap((store) =>
      Array.from({ length: 10 }, () => store.exclusively(() => (count += 1))),
    )
    await Promise.all(turns)
    expect(count).toBe(30)
  },
}
