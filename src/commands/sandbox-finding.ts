import type { Kiwi } from '../kiwi.ts'
import type { Finding } from './finding.ts'

/** Which levels of sandbox this host has. */
export function sandboxFinding({ mechanism, program, missing }: SandboxHost): Finding {
  const name = 'sandbox'
  const { own, fs, strict } = missing
  if (own === null && fs === null && strict === null) {
    // The system does not bound the number of an administrator's processes.
    const unbounded = process.getuid?.() === 0 ? '; as root the number of processes is not bounded' : ''
    return { name, state: 'ok', detail: `fs and strict, by ${mechanism} (${program})${unbounded}` }
  }
  const levels = fs === null ? `fs only, no strict: ${strict}` : `none: ${fs}`
  const detail = own === null ? levels : `${levels}; programs of agents can reach Kiwi's own keys`
  const fix = 'Install bubblewrap 0.7 or newer, and allow unprivileged user namespaces'
  return { name, state: 'warn', detail, fix }
}

type SandboxHost = Awaited<ReturnType<Kiwi['sandbox']>>
