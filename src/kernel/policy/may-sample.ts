import { decide } from './decide.ts'
import { serverName } from '../../shared/groups.ts'
import type { Demand, Layer, ReadyRule } from './rule.ts'
import { SAMPLE } from './rule.ts'

/** Whether an upstream may use the client's model: somebody must have said so by name, and nobody anything against it. */
export function maySample(layers: readonly Layer[], serverId: string): boolean {
  const demand: Demand = {
    op: 'tool',
    id: serverId,
    action: SAMPLE,
    of: { server: serverName(serverId), tool: SAMPLE },
  }
  const isGranted = layers.some((layer) => mayGrant(layer) && layer.byOperation.tool.some(grants(demand)))
  return isGranted && decide(layers, [demand], null).effect === 'allow'
}

/** The file of a project can only narrow. */
function mayGrant({ source }: Layer): boolean {
  return source.kind !== 'harness' || source.place !== 'project'
}

function grants(demand: Demand): (ready: ReadyRule) => boolean {
  return ({ rule: { effect, match }, speaksOf, holds }) =>
    effect === 'allow' &&
    holds === null &&
    match.kind === 'tool' &&
    match.actions?.includes(SAMPLE) === true &&
    speaksOf(demand)
}
