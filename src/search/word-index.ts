/**
 * Where each word of a list stands, found in the bytes of the list itself: a string and an entry for each of so many words
 * would take more memory than their vectors. The words are plain ASCII, with a line feed between.
 */
export function indexWords(list: Uint8Array, count: number): (word: string) => number | undefined {
  const starts = new Uint32Array(count + 1)
  // Two in three are taken at most, so that a free one is near; 0 is a free one.
  const slots = new Uint32Array(2 ** Math.ceil(Math.log2(count * 1.5 + 1)))
  const mask = slots.length - 1
  let [hash, word] = [SEED, 0]
  for (let at = 0; at <= list.length && word < count; at++) {
    const sign = list[at] ?? LINE_FEED
    if (sign !== LINE_FEED) {
      hash = mixed(hash, sign)
      continue
    }
    let slot = hash & mask
    while (slots[slot] !== 0) slot = (slot + 1) & mask
    word += 1
    slots[slot] = word
    starts[word] = at + 1
    hash = SEED
  }
  const isAt = (asked: string, place: number): boolean => {
    const start = starts[place] ?? 0
    if ((starts[place + 1] ?? 0) - start - 1 !== asked.length) return false
    for (let at = 0; at < asked.length; at++) if (asked.charCodeAt(at) !== list[start + at]) return false
    return true
  }
  return (asked) => {
    let slot = SEED
    for (let at = 0; at < asked.length; at++) slot = mixed(slot, asked.charCodeAt(at))
    for (slot &= mask; ; slot = (slot + 1) & mask) {
      const place = (slots[slot] ?? 0) - 1
      if (place < 0) return undefined
      if (isAt(asked, place)) return place
    }
  }
}

const LINE_FEED = 10
/** FNV-1a: short, and it spreads words well. */
const SEED = 0x811c9dc5

function mixed(hash: number, sign: number): number {
  return Math.imul(hash ^ sign, 0x01000193)
}
