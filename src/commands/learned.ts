import { z } from 'zod'
import { fadedTimes } from '../store/uses.ts'
import { openTerminal, printReply, table } from './terminal.ts'
import type { CommonOptions, Session } from './with-kiwi.ts'
import { withKiwi } from './with-kiwi.ts'

interface LearnedOptions extends CommonOptions {
  /** An id, or `all`. */
  readonly forget?: string
}

/** `kiwi learned`: what search learnt from uses, and how that is dropped. */
export function learnedCommand(options: LearnedOptions): Promise<number> {
  const isJson = options.json === true
  return withKiwi(options, async (session) =>
    options.forget === undefined ? show(session, isJson) : forget(options.forget, session, isJson),
  )
}

async function show({ kiwi }: Session, isJson: boolean): Promise<number> {
  const terminal = openTerminal()
  const now = Date.now()
  const uses = (await kiwi.store.uses()).map(({ words, item_type, item_id, space, root, ...use }) => ({
    words,
    item_type,
    item_id,
    space,
    root,
    times: Math.round(fadedTimes(use, now) * 10) / 10,
    last: new Date(use.last).toISOString(),
  }))
  const isOn = kiwi.config.search.learn
  if (isJson) {
    terminal.out(JSON.stringify({ learn: isOn, uses }, null, 2))
    return 0
  }
  if (!isOn) terminal.note('Nothing is learnt: "search": {"learn": false} is set in kiwi.json')
  if (uses.length === 0) terminal.note('Nothing was learnt yet: what is run after a search is.')
  else {
    const rows = uses.map((use) => [use.words.join(' '), use.item_id, use.space, String(use.times), use.last])
    terminal.out(table([['words', 'item', 'space', 'times', 'last'], ...rows]))
  }
  return 0
}

async function forget(what: string, { act }: Session, isJson: boolean): Promise<number> {
  const itemId = what === 'all' ? null : what
  const reply = await act({
    wish: () => ({ kind: 'forget', itemId }),
    operation: 'learned.forget',
    subject: what,
    parameters: { item_id: itemId },
  })
  return printReply(reply, isJson, (data, terminal) => terminal.out(Forgotten.parse(data).output))
}

const Forgotten = z.looseObject({ output: z.string() })
