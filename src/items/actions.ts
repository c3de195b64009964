import { KiwiError } from '../shared/errors.ts'
import type { ItemType } from '../shared/tool-type.ts'

/** What `execute` acts on: the types of item, and threads, which are looked up as tools. */
export type Kind = ItemType | 'thread'

/** What can be done with each kind of item; `call` is another word for `run`. */
const AUTHORING = ['create', 'update', 'sign', 'publish', 'delete'] as const
const ACTIONS = {
  tool: ['run', ...AUTHORING, 'undo'],
  directive: ['run', 'finish', ...AUTHORING],
  knowledge: ['run', ...AUTHORING],
  mcp: ['run', 'discover', ...AUTHORING],
  thread: AUTHORING,
} as const satisfies Record<Kind, readonly Action[]>

const IN_A_SENTENCE: Readonly<Record<Kind, string>> = {
  tool: 'a tool',
  directive: 'a directive',
  knowledge: 'a piece of knowledge',
  mcp: 'an MCP server',
  thread: 'a thread',
}

type Action = 'run' | 'discover' | 'finish' | 'undo' | (typeof AUTHORING)[number]

export function readAction(kind: Kind, given: string): Action {
  const wanted = given === 'call' ? 'run' : given
  const action = ACTIONS[kind].find((known) => known === wanted)
  if (action !== undefined) return action
  const supported = ACTIONS[kind].join(', ')
  const what = IN_A_SENTENCE[kind]
  throw new KiwiError('UNKNOWN_ACTION', `Cannot do "${given}" with ${what}: it supports ${supported}`, {
    hint: `Use one of ${supported}`,
    fix: { call: 'help', arguments: { topic: 'execute' } },
    details: { supported: ACTIONS[kind] },
  })
}
