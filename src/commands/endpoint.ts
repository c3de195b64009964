import { setFlagsFromString } from 'node:v8'
import type { Config } from '../config/config.ts'
import type { Kiwi } from '../kiwi.ts'
import type { Endpoint } from '../server/build-server.ts'
import type { Passthrough } from '../server/passthrough.ts'
import { KiwiError } from '../shared/errors.ts'
import { createIds, parseItemRef } from '../shared/ids.ts'
import { switchedOff } from '../spaces/switch-on.ts'
import { VERSION } from '../shared/version.ts'
import type { Rest } from './rest.ts'
import { giveMemoryBack, restAfterWork } from './rest.ts'

/** What a started server holds: the endpoint, and the kernel once a first call opened it. */
export interface Served {
  readonly endpoint: Endpoint
  readonly open: () => Promise<Kiwi>
  close(): Promise<void>
}

/** The kernel is opened by the first call and imported only then. */
export function createServed(config: () => Config, principal: string): Served {
  let opening: Promise<Kiwi> | null = null
  let rest: Rest | null = null
  const openNow = async (): Promise<Kiwi> => {
    compileSooner()
    const { openKiwi } = await import('../kiwi.ts')
    const kiwi = await openKiwi(config())
    // What has only been started up holds nothing.
    rest ??= restAfterWork(giveMemoryBack)
    return kiwi
  }
  const open = (): Promise<Kiwi> => {
    opening ??= openNow().catch((error: unknown) => {
      opening = null
      throw error
    })
    return opening
  }
  return {
    open,
    endpoint: {
      version: VERSION,
      open,
      principal,
      newSession: createIds(Date.now),
      folder: workingFolder(),
    },
    async close() {
      rest?.end()
      const kiwi = await opening?.catch(() => null)
      await kiwi?.close()
    },
  }
}

/**
 * A call goes through some hundred functions, each once. With the engine's own patience they run unoptimised for the
 * first thousands of calls, which is all that most sessions have. What has only been started up is left alone.
 */
function compileSooner(): void {
  setFlagsFromString('--interrupt-budget=20000')
}

/** A server that clients see whole; one that is not there is said at once, and not to every client. */
export async function openWhole({ endpoint, open }: Served, name: string): Promise<Passthrough> {
  const { openPassthrough } = await import('../server/passthrough.ts')
  const { spaces } = await open()
  const lookup = spaces.at(endpoint.folder)
  lookup.freshen(true)
  const ref = parseItemRef(name)
  const item = await lookup.find(ref, 'mcp')
  if (item?.space === 'builtin' && (await lookup.serverFor(`mcp_${name}`)) === null)
    throw new KiwiError(
      'NOT_FOUND',
      `Cannot pass on to "${name}": what is shipped with Kiwi is not shown whole`,
      {
        hint: `Add it as a server of yours: kiwi add ${name}, or kiwi add ${name} -- <command>`,
      },
    )
  if (item?.manifest.enabled === false) throw switchedOff(`Cannot pass on to "${name}": it`, item)
  if (item !== null) return openPassthrough(endpoint, name)
  throw new KiwiError('NOT_FOUND', `Cannot pass on to "${name}": there is no such server`, {
    hint: `Find it with: kiwi search mcp:*; or add it: kiwi add ${name} -- <command>`,
  })
}

/** The folder a server was started in may be gone. */
function workingFolder(): string | null {
  try {
    return process.cwd()
  } catch {
    return null
  }
}
