import { z } from 'zod'
import { isObject } from '../shared/json.ts'

const LISTEN = 'subscriptions/listen'
const Listening = z.looseObject({
  params: z.looseObject({
    notifications: z.looseObject({ resourceSubscriptions: z.array(z.string()).optional() }),
  }),
})

/** The resources that a client of the newer era begins to listen to; null for any other message. The SDK answers it itself. */
export function listenedTo(message: unknown): readonly string[] | null {
  // Every message comes by here.
  if (!isObject(message) || message['method'] !== LISTEN) return null
  const { data } = Listening.safeParse(message)
  return data === undefined ? null : (data.params.notifications.resourceSubscriptions ?? [])
}

/** The same of a request over HTTP. */
export async function listenedToBy(request: Request): Promise<readonly string[] | null> {
  if (request.headers.get('mcp-method') !== LISTEN) return null
  return listenedTo(await request.clone().json())
}
