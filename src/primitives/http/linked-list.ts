/**
 * Things in the order they came, any of which can leave. A Set does the same, but under many comings and goings its
 * cast-off tables hold one another, and all they ever held, until the next full garbage collection.
 */
export interface LinkedList<Item> {
  readonly first: Item | null
  add(item: Item): Link<Item>
  /** Removing one twice does nothing. */
  remove(link: Link<Item>): void
}

export interface Link<Item> {
  readonly item: Item
  previous: Link<Item> | null
  next: Link<Item> | null
}

export function createLinkedList<Item>(): LinkedList<Item> {
  let first: Link<Item> | null = null
  let last: Link<Item> | null = null
  return {
    get first() {
      return first?.item ?? null
    },
    add(item) {
      const link: Link<Item> = { item, previous: last, next: null }
      if (last === null) first = link
      else last.next = link
      last = link
      return link
    },
    remove(link) {
      if (link !== first && link.previous === null) return
      if (link.previous === null) first = link.next
      else link.previous.next = link.next
      if (link.next === null) last = link.previous
      else link.next.previous = link.previous
      link.previous = null
      link.next = null
    },
  }
}
