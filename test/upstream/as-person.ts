import type { Reply } from '../../src/shared/reply.ts'
import { person } from '../trust/callers.ts'
import type { TempKiwi } from '../temp-kiwi.ts'

/** What `kiwi trust NAME` does: a look first, where `isDryRun`, then a yes to what was seen. */
export function trustServer(
  temp: TempKiwi,
  name: string,
  { seen = null, isDryRun = false }: { seen?: Seen; isDryRun?: boolean } = {},
): Promise<Reply> {
  const act = {
    wish: () => ({ kind: 'trust_server', name, seen }) as const,
    operation: 'trust.server',
    subject: name,
    isDryRun,
  }
  return temp.kiwi.act(act, person(temp))
}

type Seen = { readonly identity: string; readonly pins: readonly string[] } | null

export function trustProject(temp: TempKiwi): Promise<Reply> {
  return temp.kiwi.trust(temp.project, false, person(temp))
}
