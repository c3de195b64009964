import { isIPv4, isIPv6 } from 'node:net'

/** Why an address is no public unicast address, or null when it is one. */
export function whyNotPublic(address: string): string | null {
  if (isIPv4(address)) return whyNotPublic4(bitsOf4(address))
  if (address.includes('%')) return 'a link-local address'
  return isIPv6(address) ? whyNotPublic6(bitsOf6(address)) : 'not an address'
}

interface Range {
  readonly base: bigint
  readonly shift: bigint
  readonly why: string
}

const RANGES_4: readonly Range[] = [
  range('0.0.0.0/8', 'an unspecified address'),
  range('10.0.0.0/8', 'a private address'),
  range('100.64.0.0/10', 'a carrier address (CGNAT)'),
  range('127.0.0.0/8', 'a loopback address'),
  range('169.254.0.0/16', 'a link-local address'),
  range('172.16.0.0/12', 'a private address'),
  range('192.0.0.0/24', 'a reserved address'),
  range('192.0.2.0/24', 'a documentation address'),
  range('192.88.99.0/24', 'a reserved address'),
  range('192.168.0.0/16', 'a private address'),
  range('198.18.0.0/15', 'a benchmarking address'),
  range('198.51.100.0/24', 'a documentation address'),
  range('203.0.113.0/24', 'a documentation address'),
  range('224.0.0.0/4', 'a multicast address'),
  range('240.0.0.0/4', 'a reserved address'),
  // Looks public, but the hosts of one cloud reach their platform's own service there.
  range('168.63.129.16/32', 'a cloud platform address'),
]

const RANGES_6: readonly Range[] = [
  range('::/128', 'an unspecified address'),
  range('::1/128', 'a loopback address'),
  range('::/96', 'an IPv4-compatible address'),
  range('64:ff9b:1::/48', 'a private address'),
  range('100::/64', 'a discard address'),
  range('2001::/23', 'a reserved address'),
  range('2001:db8::/32', 'a documentation address'),
  range('3fff::/20', 'a documentation address'),
  range('fc00::/7', 'a unique-local address'),
  range('fe80::/10', 'a link-local address'),
  range('ff00::/8', 'a multicast address'),
]

/** Addresses that lead to the IPv4 address inside them, and how far that one is from the right. */
const WRAPPERS: readonly (Range & { readonly offset: bigint })[] = [
  { ...range('::ffff:0:0/96', 'IPv4-mapped'), offset: 0n },
  { ...range('64:ff9b::/96', 'NAT64'), offset: 0n },
  { ...range('2002::/16', '6to4'), offset: 80n },
]

const GLOBAL_UNICAST = range('2000::/3', 'a reserved address')

function whyNotPublic4(bits: bigint): string | null {
  return RANGES_4.find((one) => isIn(bits, one))?.why ?? null
}

function whyNotPublic6(bits: bigint): string | null {
  const wrapper = WRAPPERS.find((one) => isIn(bits, one))
  if (wrapper !== undefined) return whyNotPublic4((bits >> wrapper.offset) & 0xffff_ffffn)
  const refused = RANGES_6.find((one) => isIn(bits, one))
  if (refused !== undefined) return refused.why
  return isIn(bits, GLOBAL_UNICAST) ? null : GLOBAL_UNICAST.why
}

function isIn(bits: bigint, { base, shift }: Range): boolean {
  return bits >> shift === base
}

function range(cidr: string, why: string): Range {
  const [address = '', length = ''] = cidr.split('/')
  const bits = isIPv4(address) ? bitsOf4(address) : bitsOf6(address)
  const shift = BigInt((isIPv4(address) ? 32 : 128) - Number(length))
  return { base: bits >> shift, shift, why }
}

function bitsOf4(address: string): bigint {
  return address.split('.').reduce((bits, byte) => (bits << 8n) | BigInt(byte), 0n)
}

/** The URL parser turns every spelling of an IPv6 address, dotted tails too, into plain groups. */
function bitsOf6(address: string): bigint {
  const [left, right] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const head = groupsOf(left)
  const tail = groupsOf(right)
  const gap = Array.from({ length: 8 - head.length - tail.length }, () => 0n)
  return [...head, ...gap, ...tail].reduce((bits, group) => (bits << 16n) | group, 0n)
}

function groupsOf(text: string | undefined): bigint[] {
  return text ? text.split(':').map((group) => BigInt(`0x${group}`)) : []
}
