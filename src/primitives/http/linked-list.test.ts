import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Link } from './linked-list.ts'
import { createLinkedList } from './linked-list.ts'

test('any comings and goings leave the same order as in a Set', () => {
  const step = fc.oneof(fc.constant('add' as const), fc.nat(20))
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const list = createLinkedList<number>()
      const model = new Set<number>()
      const links: Link<number>[] = []
      for (const one of steps) {
        if (one === 'add') {
          model.add(links.length)
          links.push(list.add(links.length))
          continue
        }
        const link = links[one]
        if (link === undefined) continue
        list.remove(link)
        model.delete(link.item)
      }
      const rest: number[] = []
      for (let item = list.first; item !== null; item = list.first) {
        rest.push(item)
        const link = links[item]
        if (link !== undefined) list.remove(link)
      }
      expect(rest).toEqual([...model])
    }),
  )
})
