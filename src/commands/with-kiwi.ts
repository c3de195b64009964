import { userInfo } from 'node:os'
import { resolve } from 'node:path'
import type { Config } from '../config/config.ts'
import { loadConfig } from '../config/config.ts'
import { readEnvironment } from '../config/environment.ts'
import type { Kiwi } from '../kiwi.ts'
import { openKiwi } from '../kiwi.ts'
import type { MetaTool } from '../meta/arguments.ts'
import type { Answer } from '../kernel/call.ts'
import { answerAct } from '../meta/answer-act.ts'
import type { Act, RollbackOrder } from '../meta/acts.ts'
import { createIds } from '../shared/ids.ts'
import type { Report } from '../shared/progress.ts'
import type { Reply } from '../shared/reply.ts'
import { answerHere } from './answer.ts'
import { findProject } from './find-project.ts'

/** Options every command takes. */
export interface CommonOptions {
  readonly json?: boolean
  readonly project?: string
}

/** A person at the command line: the same four tools, the same gate. */
export interface Session {
  readonly kiwi: Kiwi
  readonly project: string
  readonly call: (tool: MetaTool, args: Readonly<Record<string, unknown>>, report?: Report) => Promise<Reply>
  /** What no tool can express. */
  readonly act: (act: Act) => Promise<Reply>
  /** The person's word for the project, or its end. */
  readonly trust: (isRevoked: boolean) => Promise<Reply>
  readonly rollback: (order: RollbackOrder) => Promise<Reply>
  /** The person's answer to a call that waits for it. */
  readonly decide: Decide
}

/** Answers a question that was seen. */
export type Decide = (answer: Answer, project: string | null) => Promise<Reply>

export async function withKiwi<T>(
  { project, json }: CommonOptions,
  use: (session: Session) => Promise<T>,
): Promise<T> {
  const config = configOfCommand()
  const kiwi = await openKiwi(config)
  const folder = project === undefined ? findProject('.', config) : resolve(project)
  const client = {
    principal: `user:${userInfo().username}`,
    session: createIds(Date.now)(),
    kind: 'person',
    defaultProject: () => Promise.resolve(folder),
  } as const
  const cancel = new AbortController()
  process.once('SIGINT', () => cancel.abort())
  const decide: Decide = (answer, at) => kiwi.act(answerAct(answer, at), client)
  /** A call that asks is answered right here, where a person is there to be asked. */
  const answered = async (send: () => Promise<Reply>): Promise<Reply> => {
    const reply = await send()
    return json !== true && (await answerHere(reply, kiwi, decide)) ? send() : reply
  }
  try {
    return await use({
      kiwi,
      project: folder,
      call: (tool, args, report) =>
        answered(() => kiwi.call(tool, args, { ...client, report }, cancel.signal)),
      act: (act) => answered(() => kiwi.act(act, client, cancel.signal)),
      trust: (isRevoked) => answered(() => kiwi.trust(folder, isRevoked, client)),
      rollback: (order) => answered(() => kiwi.rollback(folder, order, client)),
      decide,
    })
  } finally {
    await kiwi.close()
  }
}

/** A person reads the reply: lines for operators come with it only where they are asked for. */
function configOfCommand(): Config {
  const config = loadConfig(readEnvironment())
  return config.sources.log_level === 'default' ? { ...config, logLevel: 'silent' } : config
}
