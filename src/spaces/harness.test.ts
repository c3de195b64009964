import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Harness, HarnessSource } from './harness.ts'
import { harnessSources, harnessStamp, readHarness } from './harness.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kiwi-harness-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const write = (root: string, text: string): void => {
  mkdirSync(join(folder, root, 'config'), { recursive: true })
  writeFileSync(join(folder, root, 'config/agent_harness.yaml'), text)
}
const sources = (...projects: readonly string[]): readonly HarnessSource[] =>
  harnessSources(
    {
      builtinFolder: join(folder, 'builtin'),
      machineHarness: join(folder, 'etc.yaml'),
      userSpace: join(folder, 'user'),
    },
    projects,
  )
const read = async (text: string): Promise<Harness> => {
  write('.ai', text)
  const source = sources(folder).at(-1)
  if (source === undefined) throw new Error('there is no source')
  return readHarness(source)
}

test('H1: what is shipped, the machine, the user and the project each have a place', () => {
  expect(sources(folder).map(({ place }) => place)).toEqual(['builtin', 'machine', 'user', 'project'])
  expect(sources().map(({ place }) => place)).toEqual(['builtin', 'machine', 'user'])
  expect(sources(folder).map(harnessStamp)).toEqual([null, null, null, null])
})

test('H1: the file of the seeds is read as it stands', async () => {
  const { content, faults } = await read(`mode: proxy
allowed_mcps: [kiwi-mcp]
internal_tools:
  filesystem:
    enabled: true
    allowed_paths: ["\${PROJECT_PATH}", "~/.ai"]
    read_only_paths: [/etc, /usr]
  shell:
    enabled: true
    allowed_commands: [git, npm, pnpm, python, pytest]
    blocked_commands: ["rm -rf", sudo, curl]
  mcps:
    supabase: {enabled: true, rate_limit: 100/minute}
    github: {enabled: true, require_approval: [create_pull_request, merge_pull_request], approval_timeout: 3600}
`)
  expect(faults).toEqual([])
  expect(content?.internal_tools.mcps?.['github']?.approval_timeout).toBe(3600)
})

test.each<[string, object]>([
  ['mode: [', { line: 1 }],
  ['mode: proxxy', { line: 1, column: 1, reason: '"mode" must be one of proxy, direct, hybrid' }],
  ['mode: direct\nrequire_signature: maybe', { line: 2, column: 1 }],
  [
    'mode: direct\ninternal_tools:\n  shell:\n    alowed_commands: [git]\n',
    {
      line: 4,
      column: 5,
      reason: '"internal_tools.shell" has no key "alowed_commands": "allowed_commands" is probably meant',
    },
  ],
  ['rules:\n  - op: write\n    match: { path: /a, glob: /b }\n    effect: deny\n', { line: 3, column: 24 }],
  ['internal_tools:\n  shell:\n    allowed_commands: []\n', { line: 3, column: 5 }],
  ['- a list', { line: 1, column: 1 }],
  ['', { line: 1, column: 1 }],
])(
  'H1: what is wrong with %j is said with line and column, and its content counts for nothing',
  async (text, fault) => {
    const { content, faults } = await read(text)
    expect(content).toBeNull()
    expect(faults).toMatchObject([fault])
  },
)

test.each(['file', 'folder'])('H1: a link in its place (of the %s) is not followed', async (what) => {
  write('elsewhere', 'mode: direct\n')
  const link = what === 'file' ? 'config/agent_harness.yaml' : 'config'
  mkdirSync(join(folder, 'p/.ai/config'), { recursive: true })
  if (what === 'folder') rmSync(join(folder, 'p/.ai/config'), { recursive: true })
  symlinkSync(join(folder, 'elsewhere', link), join(folder, 'p/.ai', link))
  const source = sources(join(folder, 'p')).at(-1)
  if (source === undefined) throw new Error('there is no source')
  expect(harnessStamp(source)).not.toBeNull()
  expect(await readHarness(source)).toMatchObject({ content: null, faults: [{ line: 1, column: 1 }] })
})

test.each(['agent_harness.yaml', '../../nowhere'])('H1: a link to %s is told in words', async (target) => {
  mkdirSync(join(folder, 'p/.ai/config'), { recursive: true })
  symlinkSync(target, join(folder, 'p/.ai/config/agent_harness.yaml'))
  const source = sources(join(folder, 'p')).at(-1)
  if (source === undefined) throw new Error('there is no source')
  expect((await readHarness(source)).faults).toMatchObject([
    { reason: 'links are not followed here: put the file itself in its place' },
  ])
})

test("PRM-09: every folder that a project lies in has its say, the nearest last; what is the user's own has it once", () => {
  for (const root of ['user', '.ai', 'a/.ai', 'a/b/c/.ai']) mkdirSync(join(folder, root), { recursive: true })
  const above = sources(join(folder, 'a/b/c')).slice(3)
  expect(above.map(({ within }) => within)).toEqual([folder, join(folder, 'a'), join(folder, 'a/b/c')])
  rmSync(join(folder, '.ai'), { recursive: true })
  symlinkSync(join(folder, 'user'), join(folder, '.ai'))
  symlinkSync(join(folder, 'a/b/c'), join(folder, 'elsewhere'))
  const linked = sources(join(folder, 'elsewhere'), folder).slice(3)
  expect(linked.map(({ within }) => within)).toEqual([join(folder, 'a'), join(folder, 'a/b/c')])
})

const NOWHERE = '/nonexistent/kiwi'

test.each<[string, (root: string) => void]>([
  ['a file stands in place of its folder', (root) => writeFileSync(join(root, 'config'), '')],
  ['its folder is a link that leads nowhere', (root) => symlinkSync(NOWHERE, join(root, 'config'))],
  [
    'it is a link that leads nowhere',
    (root) => {
      mkdirSync(join(root, 'config'))
      symlinkSync(NOWHERE, join(root, 'config/agent_harness.yaml'))
    },
  ],
  [
    'it is called .yml',
    (root) => {
      mkdirSync(join(root, 'config'))
      writeFileSync(join(root, 'config/agent_harness.yml'), 'mode: proxy\n')
    },
  ],
])('H1, PRM-12: where %s, it counts as there and unreadable', async (_, breakIt) => {
  for (const root of ['p/.ai', 'user']) {
    mkdirSync(join(folder, root), { recursive: true })
    breakIt(join(folder, root))
  }
  const broken = sources(join(folder, 'p')).filter((source) => harnessStamp(source) !== null)
  expect(broken.map(({ place }) => place)).toEqual(['user', 'project'])
  for (const source of broken) {
    const { content, faults } = await readHarness(source)
    expect(content).toBeNull()
    expect(faults).toHaveLength(1)
  }
})

test('H1, PRM-12: so it is where the space itself is a file or a link that leads nowhere', () => {
  writeFileSync(join(folder, 'user'), '')
  mkdirSync(join(folder, 'p'))
  symlinkSync(NOWHERE, join(folder, 'p/.ai'))
  expect(sources(join(folder, 'p')).map((source) => harnessStamp(source) !== null)).toEqual([
    false,
    false,
    true,
    true,
  ])
})

test('H1: the other spelling is a fault beside the right one too, and says which is right', async () => {
  write('.ai', 'mode: direct\n')
  const [source] = sources(folder).slice(-1)
  if (source === undefined) throw new Error('there is no source')
  const before = harnessStamp(source)
  writeFileSync(join(folder, '.ai/config/agent_harness.yml'), 'mode: proxy\n')
  expect(harnessStamp(source)).not.toBe(before)
  expect((await readHarness(source)).faults).toMatchObject([
    { reason: '"agent_harness.yml" beside it is not read: call it agent_harness.yaml' },
  ])
})
