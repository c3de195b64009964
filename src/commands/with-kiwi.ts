import { userInfo } from 'node:os'
import { resolve } from 'node:path'
import { loadConfig } from '../config/config.ts'
import { readEnvironment } from '../config/environment.ts'
import type { Kiwi } from '../kiwi.ts'
import { openKiwi } from '../kiwi.ts'
import type { MetaTool } from '../meta/arguments.ts'
import type { Act, RollbackOrder } from '../meta/meta.ts'
import { createIds } from '../shared/ids.ts'
import type { Report } from '../shared/progress.ts'
import type { Reply } from '../shared/reply.ts'
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
}

export async function withKiwi<T>(
  { project }: CommonOptions,
  use: (session: Session) => Promise<T>,
): Promise<T> {
  const config = loadConfig(readEnvironment())
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
  try {
    return await use({
      kiwi,
      project: folder,
      call: (tool, args, report) => kiwi.call(tool, args, { ...client, report }, cancel.signal),
      act: (act) => kiwi.act(act, client, cancel.signal),
      trust: (isRevoked) => kiwi.trust(folder, isRevoked, client),
      rollback: (order) => kiwi.rollback(folder, order, client),
    })
  } finally {
    await kiwi.close()
  }
}
