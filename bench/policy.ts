import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { decide } from '../src/kernel/policy/decide.ts'
import type { Demand } from '../src/kernel/policy/rule.ts'
import type { Kiwi } from '../src/kiwi.ts'
import type { Client } from '../src/meta/meta.ts'
import { gate } from './gate.ts'
import type { Figure } from './measure.ts'
import { interleave, nanoseconds, round, timed } from './measure.ts'

/** Files of the size people write; signatures are left out of it, because they are looked at once. */
const HARNESS = `mode: proxy
require_signature: false
internal_tools:
  filesystem:
    allowed_paths: ["\${PROJECT_PATH}", "~/.ai"]
    read_only_paths: [/etc, /usr, "\${PROJECT_PATH}/vendor"]
  shell:
    allowed_commands: [git, npm, pnpm, python, pytest]
    blocked_commands: ["rm -rf", sudo, curl]
  mcps:
    supabase: {rate_limit: 100/minute}
    github: {require_approval: [create_pull_request, merge_pull_request]}
`

const HOW =
  'best of batches; built in, and a harness file of the user and of the project, as the seeds write them'

export async function policy(kiwi: Kiwi, client: Client, rounds: number): Promise<readonly Figure[]> {
  const [closed, open] = ['closed', 'open'].map((name) => join(kiwi.config.home, name))
  if (closed === undefined || open === undefined) throw new Error('there are no projects')
  mkdirSync(open, { recursive: true })
  for (const root of [join(closed, '.ai'), kiwi.config.userSpace]) {
    mkdirSync(join(root, 'config'), { recursive: true })
    writeFileSync(join(root, 'config/agent_harness.yaml'), HARNESS)
  }
  const { layers, faults } = await kiwi.policyOf(closed)
  if (faults.length > 0) throw new Error(JSON.stringify(faults))
  const judged = (demands: readonly Demand[]): number =>
    nanoseconds(() => decide(layers, demands, {}), 20_000) / 1000
  const path = judged([
    tool('filesystem', 'read'),
    { op: 'read', path: join(closed, 'src/a.ts'), isChosen: true },
  ])
  const command = judged([
    tool('shell', 'run'),
    { op: 'exec', program: '/usr/bin/git', argv: ['git', 'status'], isChosen: true },
  ])
  const server = judged([tool('github', 'list_issues')])
  const run = (project_path: string) => () =>
    timed(() =>
      kiwi.call(
        'execute',
        { item_type: 'tool', action: 'run', item_id: 'kiwi-overview', dry_run: true, project_path },
        client,
      ),
    )
  for (let turn = 0; turn < 2000; turn++) await run(turn % 2 === 0 ? closed : open)()
  const times = await interleave(rounds, run(closed), run(open))
  return [
    {
      id: 'H1',
      what: 'decision over three layers: a file to read',
      how: HOW,
      value: round(path),
      unit: 'us',
      detail: `a command ${round(command)} us, a tool of a server ${round(server)} us`,
      target: { most: 10 },
    },
    {
      id: 'H1',
      what: 'a call in a project with a harness file over one without',
      how: 'p50 of dry runs, which end after the judgement; the user has a file in both',
      value: round((times.ours.p50 - times.theirs.p50) * 1000),
      unit: 'us',
      detail: `p50 ${round(times.ours.p50 * 1000)} us against ${round(times.theirs.p50 * 1000)} us`,
      target: { most: 100 },
    },
    ...(await gate(kiwi, client, closed, rounds)),
  ]
}

function tool(server: string, name: string): Demand {
  return { op: 'tool', id: `${server}.${name}`, action: 'run', of: { server, tool: name } }
}
