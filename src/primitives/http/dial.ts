import type { LookupFunction, Socket } from 'node:net'
import { connect as connectPlain, isIP } from 'node:net'
import { connect as connectSecure } from 'node:tls'
import { callbackify } from 'node:util'
import type { Destination, EgressGuard } from './egress-guard.ts'
import { bare, destinationOf } from './egress-guard.ts'

/** How connections to one origin are made. */
export interface Dialler {
  readonly url: URL
  readonly guard: EgressGuard
  readonly timeoutMs: number
  /** The last TLS session, which makes the next handshake short. */
  session: Buffer | undefined
}

export type Dialled = (...result: [error: Error, socket: null] | [error: null, socket: Socket]) => void

const PROBE_AFTER_MS = 60_000

/**
 * Opens one connection. The name is resolved once, by the guard, and what it judged is what is dialled; the far
 * end is judged again when it stands, before a byte is sent.
 */
export function dial(dialler: Dialler, done: Dialled): Socket {
  const { url, guard, timeoutMs } = dialler
  const to = destinationOf(url)
  const isSecure = url.protocol === 'https:' || url.protocol === 'wss:'
  const socket = open(dialler, isSecure)
  const timer = setTimeout(() => socket.destroy(coded('ETIMEDOUT', 'no connection in time')), timeoutMs)
  let isDone = false
  const finish = (error: Error | null): void => {
    if (isDone) return
    isDone = true
    clearTimeout(timer)
    if (error === null) return done(null, socket)
    socket.destroy()
    done(error, null)
  }
  socket
    .setNoDelay(true)
    .setKeepAlive(true, PROBE_AFTER_MS)
    .once('connect', () => {
      const peer = socket.remoteAddress
      if (peer === undefined) return finish(coded('ECONNRESET', 'the connection broke'))
      const refused = guard.judgePeer(to, peer)
      if (refused !== null || !isSecure) finish(refused)
    })
    .once('secureConnect', () => finish(null))
    .on('session', (session: Buffer) => {
      dialler.session = session
    })
    // Stays for the life of the socket: an error that nobody hears would end the process.
    .on('error', finish)
    .once('close', () => finish(coded('ECONNRESET', 'the connection broke')))
  return socket
}

function open({ url, guard, session }: Dialler, isSecure: boolean): Socket {
  const to = destinationOf(url)
  const host = bare(to.host)
  const address = { host, port: to.port, lookup: lookupWith(guard, to) }
  if (!isSecure) return connectPlain(address)
  return connectSecure({
    ...address,
    ALPNProtocols: ['http/1.1'],
    rejectUnauthorized: true,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...(session === undefined ? {} : { session }),
  })
}

function lookupWith(guard: EgressGuard, to: Destination): LookupFunction {
  const resolve = callbackify(() => guard.resolve(to))
  return (host, options, callback) => {
    resolve((error, addresses) => {
      if (error !== null) return callback(error, '', 0)
      const [first] = addresses
      if (first === undefined) return callback(coded('ENOTFOUND', `${host} has no address`), '', 0)
      if (options.all === true) return callback(null, [...addresses])
      callback(null, first.address, first.family)
    })
  }
}

function coded(code: string, message: string): Error {
  return Object.assign(new Error(message), { code })
}
