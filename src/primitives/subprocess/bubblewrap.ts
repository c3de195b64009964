import { existsSync, statSync } from 'node:fs'
import { LIMITS } from '../../shared/limits.ts'
import type { Program } from './command.ts'
import type { Confinement } from './confinement.ts'

/**
 * The same program held by bubblewrap, which makes the mounts in the order of its arguments: later ones lie over
 * earlier ones, so what must hold comes last.
 */
export function confine(program: Program, confinement: Confinement): Program {
  const { command, args, cwd, env } = program
  return {
    command: confinement.program,
    args: [...bubblewrapArguments(confinement), '--chdir', cwd, '--', ...bounded(confinement, command, args)],
    // Only this one is there to be written.
    env: env['TMPDIR'] === undefined || confinement.level === 'own' ? env : { ...env, TMPDIR: '/tmp' },
    cwd,
  }
}

const OWN_OTHERS = ['--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try']
const WHOLE_SYSTEM = ['--ro-bind', '/', '/', '--dev', '/dev']
const AS_IT_IS = ['--dev-bind', '/', '/']

function bubblewrapArguments(confinement: Confinement): readonly string[] {
  const {
    level,
    hasNetwork,
    hasOwnProcesses = level === 'strict',
    hidden,
    empty,
    sealed,
    read,
    write,
    guarded,
    masked,
    needed,
    links,
  } = confinement
  return [
    // With its parent it goes too, whatever became of the group. A namespace of users lets us do all this without rights.
    '--die-with-parent',
    '--unshare-user',
    // Whoever is root would be so inside as well, and take what lies over a place away again.
    '--cap-drop',
    'CAP_SYS_ADMIN',
    ...(hasOwnProcesses ? ['--unshare-pid'] : []),
    ...(level === 'strict' ? OWN_OTHERS : []),
    ...(hasNetwork ? [] : ['--unshare-net']),
    ...(level === 'own' ? AS_IT_IS : WHOLE_SYSTEM),
    ...(hasOwnProcesses ? ['--proc', '/proc'] : []),
    ...hidden.flatMap(hide),
    ...empty.flatMap((path) => ['--dir', path]),
    ...sealed.flatMap(({ path, isOpen }) => ['--perms', isOpen ? '0555' : '0000', '--tmpfs', path]),
    ...read.flatMap((path) => ['--ro-bind-try', path, path]),
    ...write.flatMap((path) => ['--bind-try', path, path]),
    ...guarded.flatMap((path) => ['--ro-bind-try', path, path]),
    ...masked.flatMap(hide),
    ...needed.flatMap((path) => ['--ro-bind-try', path, path]),
    ...links.flatMap(({ path, target }) => ['--symlink', target, path]),
    // What is written there would be gone, and seem to be kept.
    ...[...sealed.map(({ path }) => path), ...masked.filter(isFolder)].flatMap((path) => [
      '--remount-ro',
      path,
    ]),
  ]
}

/** A folder is empty, a file is a device that may not be opened; what is not there cannot be covered. */
function hide(path: string): readonly string[] {
  if (isFolder(path)) return ['--size', String(LIMITS.sandboxTempBytes), '--tmpfs', path]
  return existsSync(path) ? ['--ro-bind', '/dev/null', path] : []
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

/**
 * Bounds set inside count only what runs inside. Of memory it is what may be written: programs that reserve more than
 * they use are many. Where memory runs out all the same, the system ends this first. Shells spell the bound of
 * processes in two ways.
 */
const BOUNDS = `{
echo 1000 >/proc/self/oom_score_adj
ulimit -d ${LIMITS.sandboxMemoryBytes / 1024}
ulimit -u ${LIMITS.sandboxProcesses} || ulimit -p ${LIMITS.sandboxProcesses}
} 2>/dev/null
exec "$@"`

function bounded({ level }: Confinement, command: string, args: readonly string[]): readonly string[] {
  if (level !== 'strict') return [command, ...args]
  return ['/bin/sh', '-c', BOUNDS, 'kiwi-sandbox', command, ...args]
}
