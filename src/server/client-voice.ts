import type { ServerContext } from '@modelcontextprotocol/server'
import { cannotAnswer } from '../shared/can-answer.ts'
import type { Notice, Report, Talk } from '../shared/progress.ts'
import type { Abilities } from './client-abilities.ts'

export interface Voice {
  readonly report: Report | undefined
  readonly tell: Talk['tell']
}

const OPENING = { method: 'elicitation/create', params: { mode: 'url' } }
/** Least severe first. */
const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']

/**
 * Tells a client what a call is busy with, through whichever of its requests is open. Only who gave a token hears of
 * progress, only who named a level of the log, and only who opens addresses that one is done with. What cannot be told is not worth failing for.
 */
export function voiceOf(open: () => ServerContext | null, { logLevel, capabilities }: Abilities): Voice {
  const hears = tokenOf(open()) !== undefined
  const opens = cannotAnswer(capabilities, OPENING) === null
  const say = (method: string, params: Readonly<Record<string, unknown>>): void => {
    open()
      ?.mcpReq.notify({ method, params })
      .catch(() => undefined)
  }
  const progress = (params: Readonly<Record<string, unknown>>): void => {
    const progressToken = tokenOf(open())
    if (progressToken !== undefined) say('notifications/progress', { ...params, progressToken })
  }
  const tell = ({ from, method, params }: Notice): void => {
    if (method === 'notifications/progress') return progress(params)
    if (method === 'notifications/elicitation/complete') return opens ? say(method, params) : undefined
    const { level, logger } = params
    const severity = typeof level === 'string' ? LEVELS.indexOf(level) : -1
    if (logLevel === null || severity < LEVELS.indexOf(logLevel)) return
    say(method, { ...params, logger: typeof logger === 'string' ? `${from}/${logger}` : from })
  }
  return {
    report: hears ? ({ message, seconds }) => progress({ progress: seconds, message }) : undefined,
    tell: hears || opens || logLevel !== null ? tell : undefined,
  }
}

function tokenOf(ctx: ServerContext | null): string | number | undefined {
  const { _meta: meta } = ctx?.mcpReq ?? {}
  return meta?.progressToken
}
