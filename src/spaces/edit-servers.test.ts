import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { editServers } from './edit-servers.ts'
import { readServers } from './read-servers.ts'
import type { ServerEntry } from './server-entry.ts'

const edit = (text: string, changes: Readonly<Record<string, ServerEntry | null>>): Promise<string> =>
  editServers(text, new Map(Object.entries(changes)), 'mcp_registry.yaml')

const TEXT = `# my servers
mcps:
  # the database
  db:
    command: npx   # started by npm
    args: ['-y', "x"]

  web: { url: "https://example.com" }  # far away
# the end
`

describe('M1: a list of servers is edited', () => {
  test('M1: a new one comes last, and nothing else moves', async () => {
    expect(await edit(TEXT, { n: { command: 'a', args: ['b'] } })).toBe(
      TEXT.replace('# the end', '  n:\n    command: a\n    args:\n      - b\n# the end'),
    )
  })

  test('M1: one that changes is written anew, one that goes takes its lines along', async () => {
    expect(await edit(TEXT, { web: { url: 'https://b' } })).toBe(
      TEXT.replace('  web: { url: "https://example.com" }  # far away', '  web:\n    url: https://b'),
    )
    expect(await edit(TEXT, { web: null })).toBe(
      TEXT.replace('  web: { url: "https://example.com" }  # far away\n', ''),
    )
  })

  test.each([
    ['', 'mcps:\n  a:\n    command: x\n'],
    ['# mine\n', '# mine\nmcps:\n  a:\n    command: x\n'],
    ['mcps:\n', 'mcps:\n  a:\n    command: x\n'],
    ['mcps: {}\n', 'mcps: { a: { command: x } }\n'],
    ['# c\nmcps: {b: {command: y}}\n', '# c\nmcps: { b: { command: y }, a: { command: x } }\n'],
    [
      'mcps:\n  - name: b\n    command: y\n',
      'mcps:\n  - name: b\n    command: y\n  - name: a\n    command: x\n',
    ],
  ])('M1: %j becomes %j', async (before, after) => {
    expect(await edit(before, { a: { command: 'x' } })).toBe(after)
  })

  test.each([
    [
      '{"mcpServers": {"a": {"command": "x"}}}',
      '{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}}',
    ],
    [
      '{\n    "mcps": {\n        "a": {"command": "x"}\n    }\n}\n',
      '{\n    "mcps": {\n        "a": {"command": "x"},\n        "b": {\n            "command": "y"\n        }\n    }\n}\n',
    ],
    ['{}', '{"mcps": {"b": {"command": "y"}}}'],
  ])('M1: a file in JSON stays one: %s', async (before, after) => {
    const edited = await edit(before, { b: { command: 'y' } })
    expect(JSON.parse(edited)).toEqual(JSON.parse(after))
    if (before.includes('\n')) expect(edited).toBe(after)
    const gone = await edit(edited, { b: null })
    expect(JSON.parse(gone)).toEqual(before === '{}' ? { mcps: {} } : JSON.parse(before))
  })

  test('M1: a file that cannot be read is not written', async () => {
    await expect(edit('mcps: [\n', { a: { command: 'x' } })).rejects.toMatchObject({ code: 'PARSE_ERROR' })
  })

  const entry = fc.record(
    {
      command: fc.string({ minLength: 1 }),
      args: fc.array(fc.string(), { maxLength: 3 }),
      enabled: fc.boolean(),
    },
    { requiredKeys: ['command'] },
  )
  const name = fc.stringMatching(/^[a-z][a-z0-9_-]{0,5}$/)

  test('M1: whatever is put there is what is read, beside what was there', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(name, entry, { maxKeys: 3 }),
        name,
        entry,
        async (before, key, value) => {
          fc.pre(
            Object.values(before)
              .concat(value)
              .every(({ command, args = [] }) => !/[\0]/.test([command, ...args].join(''))),
          )
          const text = await edit('# top\n', before)
          const { entries } = await readServers(await edit(text, { [key]: value }), 'x')
          expect(Object.fromEntries(Array.from(entries, ([each, found]) => [each, found.entry]))).toEqual({
            ...before,
            [key]: value,
          })
        },
      ),
      { numRuns: 50 },
    )
  })
})
