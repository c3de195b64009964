import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { assert, asyncProperty, constantFrom, record } from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Reply } from '../src/shared/reply.ts'
import { field } from './fixtures/field.ts'
import type { TempKiwi } from './temp-kiwi.ts'
import { BASH, openTempKiwi } from './temp-kiwi.ts'

let temp: TempKiwi
let outside: string
let places: readonly (string | undefined)[]
beforeAll(async () => {
  temp = await openTempKiwi()
  const at = (path: string): string => join(temp.folder, path)
  outside = at('outside')
  for (const path of ['project/sub', 'outside']) mkdirSync(at(path))
  for (const path of ['project/a.txt', 'outside/a.txt']) writeFileSync(at(path), 'text')
  symlinkSync(outside, at('project/out'))
  symlinkSync(at('project/sub'), at('project/link'))
  places = ['project', 'project/sub', 'project/link', 'project/out', 'outside', '', 'user'].map(at)
  places = [undefined, '/', ...places]
  for (const [id, manifest, files] of MADE) {
    const { error } = await temp.create(id, { description: 'x', version: '1.0.0', ...manifest }, files)
    expect(error).toBeNull()
  }
})
afterAll(() => temp.close())

const argv = { type: 'object', properties: { argv: { type: 'array', items: { type: 'string' } } } }
const path = { type: 'object', properties: { path: { type: 'string' }, other: { type: 'string' } } }
const server = { tool_type: 'mcp_tool', executor: 'filesystem', input_schema: path }

/** What an agent can make over what is shipped. */
const MADE: readonly (readonly [string, object, Record<string, string>])[] = [
  ['over_shell', { tool_type: 'script', executor: 'shell_runtime', input_schema: argv }, {}],
  ['over_bash', BASH, { 'main.sh': 'true' }],
  ['over_python', { tool_type: 'script', executor: 'python_runtime' }, { 'main.py': 'pass' }],
  ['over_node', { tool_type: 'script', executor: 'node_runtime' }, { 'main.js': '' }],
  ['over_git', { tool_type: 'script', executor: 'git_runtime', config: { args: ['push'] } }, {}],
  ['over_read', { ...server, config: { mcp_tool_name: 'read' } }, {}],
  ['over_delete', { ...server, config: { mcp_tool_name: 'delete' } }, {}],
  ['aside', { ...server, config: { mcp_tool_name: 'read' }, paths: { read: ['{other}'] } }, {}],
]

type Road = readonly [item: string, parameters: object]

/** The plain call first, then the same by other names. */
const roads = (file: string): readonly (readonly Road[])[] => [
  [
    ['shell.run', { argv: ['git', 'push'] }],
    ['shell.run', { command: 'git push' }],
    ['over_shell', { argv: ['git', 'push'] }],
    ['over_git', {}],
  ],
  [
    ['shell.run', { argv: ['cat', file] }],
    ['over_shell', { argv: ['cat', file] }],
  ],
  [
    ['shell.run', { argv: ['bash', 'x.sh'] }],
    ['over_bash', {}],
  ],
  [
    ['shell.run', { argv: ['python3', 'x.py'] }],
    ['over_python', {}],
  ],
  [
    ['shell.run', { argv: ['node', 'x.js'] }],
    ['over_node', {}],
  ],
  [
    ['filesystem.read', { path: file }],
    ['filesystem.read@1.0.0', { path: file }],
    ['FILESYSTEM.READ', { path: file }],
    ['filesystem/filesystem.read', { path: file }],
    ['over_read', { path: file }],
    ['aside', { path: file, other: 'a.txt' }],
  ],
  [
    ['filesystem.delete', { path: file }],
    ['over_delete', { path: file }],
  ],
]

const RANKS = { refused: 0, asked: 1, allowed: 2 } as const

async function rank([item_id, parameters]: Road, project_path: string | undefined): Promise<number> {
  const args = { item_type: 'tool', action: 'run', item_id, parameters, dry_run: true, project_path }
  return rankOf(await temp.call('execute', args))
}

function rankOf({ status, data }: Reply): number {
  if (status !== 'dry_run' || field(data, 'denied_by') !== null) return RANKS.refused
  return field(data, 'would_ask') === true ? RANKS.asked : RANKS.allowed
}

const files = record({
  place: constantFrom('user', 'project'),
  mode: constantFrom('proxy', 'hybrid', 'direct'),
  shell: constantFrom(
    undefined,
    { enabled: false },
    {},
    { allowed_commands: ['git', 'cat'] },
    { allowed_commands: ['bash', 'python3', 'node'], blocked_commands: ['git push'] },
    { require_approval: ['git', 'bash'] },
  ),
  filesystem: constantFrom(
    undefined,
    { enabled: false },
    {},
    { allowed_paths: ['${PROJECT_PATH}'], require_approval: ['delete'] },
    { allowed_paths: ['/'], read_only_paths: ['${PROJECT_PATH}'] },
  ),
  rules: constantFrom(
    [],
    [{ op: 'read', match: { path: '${PROJECT_PATH}/a.txt' }, effect: 'deny' }],
    [{ op: 'tool', match: { server: 'shell' }, effect: 'ask' }],
  ),
})

test('PRM-05, PRM-09, H1: no other name, folder or tool of an agent gets more than the plain call', async () => {
  await assert(
    asyncProperty(files, async ({ place, mode, shell, filesystem, rules }) => {
      const root = place === 'user' ? temp.config.userSpace : join(temp.project, '.ai')
      const target = join(root, 'config/agent_harness.yaml')
      mkdirSync(dirname(target), { recursive: true })
      writeFileSync(target, JSON.stringify({ mode, internal_tools: { shell, filesystem }, rules }))
      try {
        for (const file of [join(temp.project, 'a.txt'), join(outside, 'a.txt')])
          for (const [plain, ...others] of roads(file)) {
            if (plain === undefined) throw new Error('a road leads nowhere')
            const most = await rank(plain, undefined)
            const ways = places.flatMap((project) => [plain, ...others].map((road) => ({ road, project })))
            for (const { road, project } of ways) {
              const got = await rank(road, project)
              expect(got, `${JSON.stringify(road)} in ${project}`).toBeLessThanOrEqual(most)
            }
          }
      } finally {
        rmSync(target)
      }
    }),
    { numRuns: 12 },
  )
}, 240_000)
