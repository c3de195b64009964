import { setTimeout as delay } from 'node:timers/promises'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import type { Ask } from '../shared/progress.ts'
import type { Stop } from '../shared/stop.ts'
import { realSignal } from '../shared/stop.ts'
import { cancelled, refused, tooLate } from '../upstream/pending.ts'
import { rpcErrorIn } from '../upstream/read-message.ts'
import { answerTo } from './input-rounds.ts'

/** What a server is asked of a call that it goes on with after it has answered. */
export interface TaskMeans {
  /** How people know the upstream. */
  readonly from: string
  /** For all of it, but for the time in which somebody is asked. */
  readonly timeoutMs: number
  readonly isRepeatable: boolean
  /** Of the older era, where a result is fetched apart, and questions come with it. */
  readonly isOlder: boolean
  readonly ask: Ask
  readonly signal?: Stop | undefined
  /** Hears what the server says of how far it is. */
  readonly progress?: ((params: JsonObject) => void) | undefined
  readonly send: (method: string, params: JsonObject) => Promise<JsonObject>
  /** Keeps the server up between two looks; gives back how to let go of it. */
  readonly hold: () => () => void
  /** A failure as whoever called is told of it. */
  readonly told: (error: KiwiError) => KiwiError
  /** Tells the server that nobody waits any more. */
  readonly cancel: (params: JsonObject) => void
}

const EXTENSION = 'io.modelcontextprotocol/tasks'
const TASKS_ONLY: JsonObject = { extensions: { [EXTENSION]: {} } }

/** What a caller of tools can do, and that its answer may be a task: Kiwi waits for it. */
export function withTasks(capabilities: JsonObject): JsonObject {
  const { extensions } = capabilities
  if (extensions === undefined) return { ...capabilities, ...TASKS_ONLY }
  return { ...capabilities, extensions: { ...(isJsonObject(extensions) ? extensions : {}), [EXTENSION]: {} } }
}

/** Whether a server of the older era runs calls of tools as tasks. */
export function runsTasks({ tasks }: JsonObject): boolean {
  const requests = isJsonObject(tasks) ? tasks['requests'] : undefined
  const tools = isJsonObject(requests) ? requests['tools'] : undefined
  return isJsonObject(tools) && isJsonObject(tools['call'])
}

/** Waits until the task is done that a server made of a call; null for an answer that is no task. */
export function whenDone(
  answered: JsonObject,
  isOlder: boolean,
  meansOf: () => TaskMeans,
): Promise<JsonObject> | null {
  const begun = taskIn(answered, isOlder)
  return begun === null ? null : carryOn(begun, meansOf())
}

async function carryOn(begun: Task, means: TaskMeans): Promise<JsonObject> {
  const { from, isOlder, signal, cancel, hold } = means
  const letGo = hold()
  try {
    const done = await follow(begun, means)
    return isOlder ? done : resultOf(done, means)
  } catch (error) {
    if (!isOver(error)) cancel({ taskId: begun.taskId })
    throw signal?.aborted === true ? cancelled(from) : error
  } finally {
    letGo()
  }
}

/** What ended by itself, or with its server, is not there to be cancelled. */
function isOver(error: unknown): boolean {
  return error instanceof KiwiError && OVER.has(error.code)
}

const OVER: ReadonlySet<string> = new Set(['TOOL_FAILED', 'OUTCOME_UNKNOWN', 'UPSTREAM_UNAVAILABLE'])

type Task = JsonObject & { readonly taskId: string }

function taskIn(answer: JsonObject, isOlder: boolean): Task | null {
  const task = isOlder ? answer['task'] : answer['resultType'] === 'task' ? answer : undefined
  const taskId = isJsonObject(task) ? task['taskId'] : undefined
  return typeof taskId === 'string' ? { ...(isJsonObject(task) ? task : {}), taskId } : null
}

async function follow(begun: Task, means: TaskMeans): Promise<JsonObject> {
  const { from, timeoutMs, isRepeatable, isOlder, signal, send, told } = means
  const { taskId } = begun
  const tell = openTelling(means)
  const answered = new Set<string>()
  let task: JsonObject = begun
  let until = performance.now() + timeoutMs
  for (;;) {
    tell(task)
    const { status } = task
    // There the rest of the questions, and the result, come with this request.
    if (isOlder && status !== 'working') return send('tasks/result', { taskId })
    if (status !== 'working' && status !== 'input_required') return task
    if (status === 'input_required') {
      const began = performance.now()
      await answerAll(task, answered, { taskId, means })
      until += performance.now() - began
    }
    if (performance.now() > until) throw told(tooLate(from, timeoutMs, isRepeatable))
    await delay(pauseOf(task), undefined, signal === undefined ? {} : { signal: realSignal(signal) })
    task = await send('tasks/get', { taskId }).catch((error: unknown) => {
      throw lostTask(error, means)
    })
  }
}

/** What it asks for once it is asked for once. */
async function answerAll(
  { inputRequests }: JsonObject,
  answered: Set<string>,
  { taskId, means }: { readonly taskId: string; readonly means: TaskMeans },
): Promise<void> {
  const { from, ask, signal, send } = means
  const asked = Object.entries(isJsonObject(inputRequests) ? inputRequests : {})
  const open = asked.filter(([key]) => !answered.has(key)).slice(0, MOST_INPUTS)
  if (open.length === 0) return
  const answers = await Promise.all(
    open.map(async ([key, request]) => [key, await answerTo(request, from, ask, signal)] as const),
  )
  for (const [key] of open) answered.add(key)
  await send('tasks/update', { taskId, inputResponses: Object.fromEntries(answers) })
}

const MOST_INPUTS = 16

function resultOf(
  { status, result, error, statusMessage }: JsonObject,
  { from, told }: TaskMeans,
): JsonObject {
  if (status === 'completed' && isJsonObject(result)) return result
  const said = status === 'failed' ? rpcErrorIn(error) : null
  if (said !== null) throw told(refused(from, said))
  const why = typeof statusMessage === 'string' ? `: ${JSON.stringify(statusMessage.slice(0, 200))}` : ''
  throw told(new KiwiError('TOOL_FAILED', `Cannot use "${from}": its task ended without a result${why}`))
}

/** One that is started anew may not know what it had begun. */
function lostTask(error: unknown, { from, isRepeatable, signal, told }: TaskMeans): unknown {
  const isGone =
    error instanceof KiwiError && (error.code === 'TOOL_FAILED' || error.code === 'UPSTREAM_UNAVAILABLE')
  if (!isGone || isRepeatable || signal?.aborted === true) return error
  const message = `Cannot use "${from}": it no longer knows the task it had begun`
  return told(new KiwiError('OUTCOME_UNKNOWN', message, { cause: error }))
}

const USUAL_PAUSE_MS = 500
const SHORTEST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 5000

function pauseOf({ pollInterval, pollIntervalMs }: JsonObject): number {
  const said = pollIntervalMs ?? pollInterval
  const ms = typeof said === 'number' && said > 0 ? said : USUAL_PAUSE_MS
  return Math.min(Math.max(ms, SHORTEST_PAUSE_MS), LONGEST_PAUSE_MS)
}

/** Says where it is, each thing once. */
function openTelling({ progress }: TaskMeans): (task: JsonObject) => void {
  let last: unknown
  let count = 0
  return ({ statusMessage }) => {
    if (progress === undefined || typeof statusMessage !== 'string' || statusMessage === last) return
    last = statusMessage
    count += 1
    progress({ progress: count, message: statusMessage })
  }
}
