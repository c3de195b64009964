import type { Command, CommandResult } from './command.ts'
import type { Confinement, SandboxHost, SandboxLevel } from './confinement.ts'
import { SANDBOX_LEVELS } from './confinement.ts'
import type { FindProgram } from './find-program.ts'

interface HostMeans {
  readonly find: FindProgram
  readonly run: (command: Command) => Promise<CommandResult>
}

/** Looked for here alone: on a PATH of the user's, anybody's program could pass for it. */
const SYSTEM_PATH = '/usr/bin:/bin:/usr/local/bin'

/** Finds out once what sandbox this host has, by holding a program that does nothing. */
export function createSandboxLook({ find, run }: HostMeans): () => SandboxHost | Promise<SandboxHost> {
  let known: SandboxHost | Promise<SandboxHost> | null = null
  const look = async (): Promise<SandboxHost> => {
    const host = await lookAt(find('bwrap', SYSTEM_PATH), run)
    known = host
    return host
  }
  return () => (known ??= look())
}

async function lookAt(program: string | null, run: HostMeans['run']): Promise<SandboxHost> {
  if (program === null) {
    const reason =
      process.platform === 'linux' ? 'bubblewrap is not installed' : 'there is none for this system'
    return { mechanism: 'bubblewrap', program: '', missing: { own: reason, fs: reason, strict: reason } }
  }
  const [own = null, fs = null, strict = null] = await Promise.all(
    SANDBOX_LEVELS.map(async (level) => reasonOf(await run(probe(program, level)))),
  )
  return { mechanism: 'bubblewrap', program, missing: { own, fs, strict } }
}

/** With everything that a real one has; only the places differ. */
function probe(program: string, level: SandboxLevel): Command {
  const confinement: Confinement = {
    program,
    level,
    hasNetwork: level !== 'strict',
    hidden: level === 'own' ? [] : ['/tmp'],
    empty: level === 'own' ? [] : ['/tmp/home'],
    sealed: level === 'own' ? [] : [{ path: '/tmp/project', isOpen: true }],
    read: ['/etc'],
    write: [],
    guarded: [],
    masked: [],
    needed: [],
    links: [],
  }
  return {
    command: '/bin/sh',
    args: ['-c', 'exit 0'],
    env: { PATH: SYSTEM_PATH, LC_ALL: 'C' },
    cwd: '/',
    input: null,
    timeoutMs: 10_000,
    killGraceMs: 0,
    maxOutputBytes: 1000,
    captureOutput: true,
    confinement,
  }
}

function reasonOf({ success, stderr }: CommandResult): string | null {
  if (success) return null
  const [line = ''] = stderr.trim().split('\n')
  return line === '' ? 'bubblewrap does not start here' : line.slice(0, 200)
}
