import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openChain } from '../src/chain/chain.ts'
import { openArgvPolicies } from '../src/chain/shell/argv-policies.ts'
import type { Kiwi } from '../src/kiwi.ts'
import type { Client } from '../src/meta/meta.ts'
import { systemClock } from '../src/shared/clock.ts'
import { parseItemRef } from '../src/shared/ids.ts'
import { openPackageTable } from '../src/spaces/imports.ts'
import { openSqliteStore } from '../src/store/sqlite/open.ts'
import { openSecrets } from '../src/store/vault/secrets.ts'
import type { Figure } from './measure.ts'
import { ROOT, interleave, round, timed } from './measure.ts'

/** Shipped, so it is read-only, and hardly any work by itself. */
const ITEM = 'kiwi-overview'

/** What the gate adds to a call: all its stages against the chain alone, which resolves, drafts and performs it. */
export async function gate(
  kiwi: Kiwi,
  client: Client,
  project: string,
  rounds: number,
): Promise<readonly Figure[]> {
  const agent: Client = { ...client, kind: 'agent', defaultProject: () => Promise.resolve(project) }
  const whole = (): Promise<number> =>
    timed(async () => {
      const args = { item_type: 'knowledge', action: 'run', item_id: ITEM }
      const { error } = await kiwi.call('execute', args, agent)
      if (error !== null) throw new Error(JSON.stringify(error))
    })
  const bare = await openBare(kiwi, project)
  const run = (): Promise<number> => timed(() => bare.run())
  for (let turn = 0; turn < WARM_UP; turn++) await (turn % 2 === 0 ? whole() : run())
  const times = await interleave(rounds, whole, run)
  // From here on every call of the session is counted.
  writeFileSync(join(kiwi.config.userSpace, 'config/agent_harness.yaml'), COUNTED)
  const counted = await interleave(rounds, whole, run)
  await bare.close()
  const added = ({ ours, theirs }: typeof times): number => round((ours.p10 - theirs.p10) * 1000)
  const detail = ({ ours, theirs }: typeof times): string =>
    `p10 ${round(ours.p10 * 1000)} us against ${round(theirs.p10 * 1000)} us; p50 ${round(ours.p50 * 1000)} against ${round(theirs.p50 * 1000)}`
  return [
    {
      id: 'H2',
      what: 'the whole gate: what it adds to a small read-only call of an agent',
      how: 'p10 of a call from its arguments to its reply, over its bare form: resolved, drafted and performed by the chain; a harness file of the user and of the project, two committed records with normal sync',
      value: added(times),
      unit: 'us',
      detail: detail(times),
      target: { most: 100 },
    },
    {
      id: 'H2',
      what: 'the same where a budget counts it',
      how: 'p10; two more commits: set aside before, spent after',
      value: added(counted),
      unit: 'us',
      detail: detail(counted),
      target: null,
    },
  ]
}

const WARM_UP = 8000
const COUNTED = 'mode: proxy\nrequire_signature: false\nbudgets: { tool_calls: 10000000 }\n'

/** The chain by itself, on the same store and the same look-up. */
async function openBare({ config, spaces }: Kiwi, project: string) {
  const clock = systemClock
  const store = await openSqliteStore({ path: config.store, clock })
  const chain = openChain({
    config,
    clock,
    store,
    secrets: openSecrets({ config, clock, store }),
    packageTable: openPackageTable(join(ROOT, 'builtin')),
    argvPolicies: openArgvPolicies(join(ROOT, 'builtin/config/argv')),
  })
  const lookup = spaces.at(project)
  const request = {
    callId: 'bare',
    principal: 'bench',
    parameters: {},
    projectPath: project,
    spaceRoot: null,
  }
  return {
    async run(): Promise<void> {
      const plan = await chain.resolver.current(parseItemRef(ITEM), lookup, 'knowledge')
      await chain.perform(await chain.draft(plan, request))
    },
    async close(): Promise<void> {
      await chain.close()
      await store.close()
    },
  }
}
