import { setTimeout as delay } from 'node:timers/promises'
import { KiwiError } from '../shared/errors.ts'
import { isJsonObject } from '../shared/json.ts'
import {
  ASKABLE,
  CLIENT_INFO,
  LEGACY_PROTOCOL,
  MODERN_PROTOCOL,
  legacyDescription,
  modernDescription,
} from './era.ts'
import type { Peer } from './peer.ts'
import type { Description } from './upstream.ts'

/** What is known before an upstream is asked of which era it is. */
export interface Terms {
  readonly startupMs: number
  /** Milliseconds since 1970. */
  readonly now: number
  readonly prior: Description | null
  /** It did not stand being asked: it is opened the older way. */
  readonly isOlder: boolean
  /** Ends it. */
  readonly signal: AbortSignal
}

/** The upstream ended when it was asked of which era it is; opened the older way it may live. */
export class EndedOnProbe extends Error {
  override readonly name = 'EndedOnProbe'
}

const PROBE_MS = 5000
const WEEK_MS = 7 * 24 * 60 * 60 * 1000

/**
 * Finds out, on one and the same wire, of which era an upstream is. A modern one that is known needs no question; a legacy
 * one that is known is asked again after a week, because it would answer the older way for ever.
 */
export async function negotiate(peer: Peer, terms: Terms): Promise<Description> {
  const { prior, startupMs, now, isOlder } = terms
  if (prior?.era === 'modern' && !isOlder) return prior
  const isKnown = prior?.era === 'legacy' && now - prior.judgedAt < WEEK_MS
  if (isOlder || isKnown) return initialize(peer, startupMs, isKnown ? prior.judgedAt : now)
  const ask = (): Promise<Description | null> => discover(peer, startupMs, now)
  const probe = ask()
    .catch((error: unknown) => (isPutOff(error) ? ask() : Promise.reject(error)))
    .catch((error: unknown) => judged(peer, error))
  const probeMs = Math.min(PROBE_MS, startupMs / 2)
  const found = await within(probe, probeMs)
  if (found !== 'late') return found ?? initialize(peer, startupMs, now)
  // It may be slow to start, or never answer what it does not know: whichever of the two it answers counts.
  const initialized = initialize(peer, startupMs - probeMs, now)
  const late = probe.then((description) => description ?? initialized)
  return Promise.any([late, initialized]).catch(() => late)
}

/** Null when it answers, but not as one of the newer era does. */
export async function discover(peer: Peer, timeoutMs: number, now = 0): Promise<Description | null> {
  const request = { method: 'server/discover', params: {}, timeoutMs, isRepeatable: true }
  return modernDescription(await peer.request(request, 'modern'), now)
}

const UNSUPPORTED_VERSION = -32_022

/** It says no to the revision it was asked in, and names the same one as its own: it is asked once more. */
function isPutOff(error: unknown): boolean {
  const said = error instanceof KiwiError ? error.details['rpc_error'] : null
  if (!isJsonObject(said) || said['code'] !== UNSUPPORTED_VERSION || !isJsonObject(said['data'])) return false
  const { supported } = said['data']
  return Array.isArray(supported) && supported.includes(MODERN_PROTOCOL)
}

/** A refusal is an answer of the older era; any other failure is one. */
function judged(peer: Peer, error: unknown): null {
  if (!(error instanceof KiwiError)) throw error
  if (error.code === 'TOOL_FAILED' || isRefusedByAddress(error)) return null
  if (error.code === 'UPSTREAM_UNAVAILABLE' && !peer.isOpen)
    throw new EndedOnProbe(error.message, { cause: error })
  throw error
}

/** An address that does not know the request refuses it as a whole. */
function isRefusedByAddress({ code, details }: KiwiError): boolean {
  const status = details['status_code']
  return (
    code === 'HTTP_STATUS' && typeof status === 'number' && status < 500 && status !== 401 && status !== 403
  )
}

async function initialize(peer: Peer, timeoutMs: number, judgedAt: number): Promise<Description> {
  const params = { protocolVersion: LEGACY_PROTOCOL, capabilities: ASKABLE, clientInfo: CLIENT_INFO }
  const result = await peer.request({ method: 'initialize', params, timeoutMs, isRepeatable: true })
  const description = legacyDescription(result, judgedAt)
  if (description !== null) return description
  const spoken = JSON.stringify(result['protocolVersion'] ?? null).slice(0, 100)
  throw new KiwiError(
    'UPSTREAM_UNAVAILABLE',
    `Cannot use "${peer.id}": it speaks the unknown revision ${spoken}`,
    {
      retryable: false,
      hint: 'Use a newer version of Kiwi or of the server',
    },
  )
}

async function within<T>(work: Promise<T>, ms: number): Promise<T | 'late'> {
  const timer = new AbortController()
  try {
    return await Promise.race([work, delay(ms, 'late' as const, { signal: timer.signal, ref: false })])
  } finally {
    timer.abort()
  }
}
