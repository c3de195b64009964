import type { HarnessFile } from '../../spaces/harness-file.ts'
import type { Policy } from '../policy/policy.ts'

/** The strictest mode that a person's files name; null where there are none. One that cannot be read may have said anything. */
export function harnessMode({ files }: Pick<Policy, 'files'>): HarnessFile['mode'] | null {
  const modes = files.filter(({ place }) => place !== 'builtin').map(({ mode }) => mode ?? 'proxy')
  return (['proxy', 'hybrid', 'direct'] as const).find((mode) => modes.includes(mode)) ?? null
}
