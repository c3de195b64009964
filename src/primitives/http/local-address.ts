import { isIP } from 'node:net'
import { bare } from './egress-guard.ts'
import { whyNotPublic } from './public-address.ts'

/** Whether an address leads to this machine or its surroundings by what it says; a name may lead there all the same. */
export function isLocalAddress(address: string): boolean {
  if (!URL.canParse(address)) return true
  const host = bare(new URL(address).hostname).replace(/\.$/, '')
  if (isIP(host) !== 0) return whyNotPublic(host) !== null
  return !host.includes('.') || LOCAL.test(host)
}

/** Endings that no public name has. */
const LOCAL = /\.(?:localhost|local|internal|intranet|lan|home|corp|home\.arpa)$/i
