import { hash, randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { z } from 'zod'
import type { Clock } from '../shared/clock.ts'
import { errorReply } from '../meta/reply.ts'
import { readBody } from './read-body.ts'

/** What the page asks for: it shows what waits for a person, and hands on what they press. */
export interface Desk {
  /** A file of the page; null when there is none of this name. */
  file(name: string): Promise<Uint8Array | null>
  /** Whether a code from `kiwi approvals --link` is ours, not too old, and used for the first time. */
  useCode(code: string): Promise<boolean>
  waiting(): Promise<readonly Waiting[]>
  /** What was decided, in words. */
  decide(choice: Choice): Promise<string>
}

/** One call that waits, as the page shows it: text, never markup. */
export interface Waiting {
  readonly id: string
  readonly title: string
  readonly who: string
  readonly text: string
  readonly rule: string
}

const Choice = z.strictObject({
  id: z.string().max(64),
  decision: z.enum(['once', 'run', 'reject']),
  reason: z.string().max(500),
})
export type Choice = z.infer<typeof Choice>

const Code = z.strictObject({ code: z.string().max(256) })

export const CONSOLE_PATH = '/console'
const SESSION_MS = 12 * 60 * 60 * 1000
const MOST_SESSIONS = 16

const FILES: ReadonlyMap<string, readonly [name: string, type: string]> = new Map([
  ['', ['index.html', 'text/html; charset=utf-8']],
  ['/app.js', ['app.js', 'text/javascript; charset=utf-8']],
  ['/style.css', ['style.css', 'text/css; charset=utf-8']],
])

/** Nothing from elsewhere is loaded, nobody frames it, nothing of it is kept. */
const HEADERS = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
}

type Handle = (request: IncomingMessage, response: ServerResponse, path: string) => Promise<void>

/**
 * The page where a person answers. Whoever holds the token of the endpoint may be an agent, so it opens nothing here:
 * a code made at a terminal does, once, and the session it gives lives in the page alone.
 */
export function createConsole(desk: Desk, clock: Clock): Handle {
  const sessions = new Map<string, number>()

  const enter = async (body: unknown): Promise<Answer> => {
    const { data } = Code.safeParse(body)
    if (data === undefined || !(await desk.useCode(data.code))) return SHUT
    const session = randomBytes(32).toString('base64url')
    sessions.set(digest(session), clock.now() + SESSION_MS)
    if (sessions.size > MOST_SESSIONS) sessions.delete(oldest(sessions.keys()))
    return { status: 200, body: { session } }
  }

  const isIn = ({ headers }: IncomingMessage): boolean => {
    const session = /^Bearer (\S+)$/.exec(headers.authorization ?? '')?.[1] ?? ''
    return (sessions.get(digest(session)) ?? 0) > clock.now()
  }

  const answer = async (name: string, request: IncomingMessage, body: unknown): Promise<Answer> => {
    if (name === '/enter') return enter(body)
    if (!isIn(request)) return SHUT
    if (name === '/approvals') return { status: 200, body: { approvals: await desk.waiting() } }
    if (name !== '/decide') return ABSENT
    const { data } = Choice.safeParse(body)
    if (data === undefined) return { status: 400, body: { error: 'Not a decision' } }
    return { status: 200, body: { message: await desk.decide(data) } }
  }

  return async (request, response, path) => {
    const name = path.slice(CONSOLE_PATH.length).replace(/\/$/, '')
    if (request.method === 'GET') {
      const [file, type] = FILES.get(name) ?? ['', '']
      const content = file === '' ? null : await desk.file(file)
      if (content === null) return send(response, ABSENT)
      response.writeHead(200, { ...HEADERS, 'Content-Type': type })
      response.end(content)
      return
    }
    if (request.method !== 'POST')
      return send(response, { status: 405, body: { error: 'Method not allowed' } })
    const body = await readBody(request)
    if ('refusal' in body)
      return send(response, { status: body.refusal.status, body: { error: body.refusal.message } })
    send(response, await answer(name, request, body.value).catch(failed))
  }
}

interface Answer {
  readonly status: number
  readonly body: object
}

const SHUT: Answer = { status: 401, body: { error: 'Run kiwi approvals --link for a way in' } }
const ABSENT: Answer = { status: 404, body: { error: 'Nothing is here' } }

function failed(error: unknown): Answer {
  const { error: said } = errorReply(error, { call_id: 'unrecorded', duration_ms: 0 })
  return { status: 200, body: { error: `${said?.message}. ${said?.hint}` } }
}

function send(response: ServerResponse, { status, body }: Answer): void {
  response.writeHead(status, { ...HEADERS, 'Content-Type': 'application/json' })
  response.end(JSON.stringify(body))
}

function digest(text: string): string {
  return hash('sha256', text)
}

function oldest(keys: Iterable<string>): string {
  for (const key of keys) return key
  return ''
}
