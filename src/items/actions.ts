import { KiwiError } from '../shared/errors.ts'
import type { ItemType } from '../shared/tool-type.ts'

/** What `execute` acts on: the types of item, and threads, which are looked up as tools. */
export type Kind = ItemType | 'thread'

/** What can be done with each kind of item; `call` is another word for `run`. */
const ACTIONS = {
  tool: ['run', 'create', 'sign', 'delete'],
  directive: ['create', 'sign', 'delete'],
  knowledge: ['run', 'create', 'sign', 'delete'],
  mcp: ['create', 'sign', 'delete'],
  thread: ['create', 'sign', 'delete'],
} as const satisfies Record<Kind, readonly Action[]>

export type Action = 'run' | 'create' | 'sign' | 'delete'

export function readAction(kind: Kind, given: string): Action {
  const wanted = given === 'call' ? 'run' : given
  const action = ACTIONS[kind].find((known) => known === wanted)
  if (action !== undefined) return action
  const supported = ACTIONS[kind].join(', ')
  throw new KiwiError('UNKNOWN_ACTION', `Cannot do "${given}" with a ${kind}: it supports ${supported}`, {
    hint: `Use one of ${supported}`,
    fix: { call: 'help', arguments: { topic: 'execute' } },
    details: { supported: ACTIONS[kind] },
  })
}
