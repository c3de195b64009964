import type { HarnessOf } from '../../spaces/harness.ts'
import type { ProtectedPlaces } from './machine-layer.ts'
import { machineLayer } from './machine-layer.ts'
import type { Policy, PolicyOf } from './policy.ts'

export function openPolicy(places: ProtectedPlaces, harness: HarnessOf): PolicyOf {
  const base: Omit<Policy, 'signatureRequiredBy'> = {
    layers: [machineLayer(places)],
    rateLimits: [],
    approvalTimeoutMs: () => 3_600_000,
    notices: [],
    sandbox: null,
    callBudget: null,
    onSecret: 'flag',
  }
  return (projectPath) => {
    const read = harness(projectPath)
    return read instanceof Promise ? read.then((found) => ({ ...base, ...found })) : { ...base, ...read }
  }
}
