import type { HarnessFile } from '../../spaces/harness-file.ts'
import type { SandboxFloor } from './policy.ts'

/** What all files together hold every program to: the strictest of each. Null when none says anything. */
export function floorOf(given: readonly Given[]): SandboxFloor | null {
  const level = (['strict', 'fs', 'off'] as const).find((one) => given.some((floor) => floor.level === one))
  if (level === undefined) return null
  const nets = new Set(given.map((floor) => floor.net ?? (floor.level === 'strict' ? 'none' : 'all')))
  const net = (['none', 'proxy'] as const).find((one) => nets.has(one)) ?? 'all'
  return { level, net, isRequired: given.some(({ required }) => required) }
}

type Given = NonNullable<HarnessFile['sandbox']>
