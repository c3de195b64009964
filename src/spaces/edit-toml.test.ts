import { expect, test } from 'vitest'
import { setToml } from './edit-toml.ts'
import { parseToml } from './parse-toml.ts'

const ENTRY = { command: 'kiwi', args: ['a b', 'c"d'] }
const set = (text: string): Promise<string> => setToml(text, ['mcp_servers', 'kiwi'], ENTRY, 'config.toml')
const LINES = '[mcp_servers.kiwi]\ncommand = "kiwi"\nargs = ["a b", "c\\"d"]\n'

test.each([
  ['an empty text', '', LINES],
  [
    'other tables',
    '# mine\nmodel = "x" # the best\n\n[a.b]\nc = 1\n',
    `# mine\nmodel = "x" # the best\n\n[a.b]\nc = 1\n\n${LINES}`,
  ],
  ['no line end', 'a = 1', `a = 1\n\n${LINES}`],
  [
    'one that is there',
    '[mcp_servers.kiwi] # ours\n# why\ncommand = "old" \nenabled = true\n\n[b]\nargs = 1\n',
    '[mcp_servers.kiwi] # ours\ncommand = "kiwi"\nargs = ["a b", "c\\"d"]\n# why\nenabled = true\n\n[b]\nargs = 1\n',
  ],
  ['a quoted name', '[mcp_servers."kiwi"]\ncommand = "x"\n', LINES.replace('kiwi]', '"kiwi"]')],
])('X9: %s: the table is put where it belongs, and every other line stays', async (_, text, wanted) => {
  const edited = await set(text)
  expect(edited).toBe(wanted)
  expect(await parseToml(edited, 'x')).toMatchObject({ mcp_servers: { kiwi: ENTRY } })
  expect(await set(edited)).toBe(edited)
})

test('X9: lines of Windows stay so', async () => {
  expect(await set('a = 1\r\n')).toBe(`a = 1\r\n\r\n${LINES.replaceAll('\n', '\r\n')}`)
})

test.each([
  ['a table in one line', 'mcp_servers = { kiwi = { command = "x" } }\n'],
  ['dotted keys', 'mcp_servers.kiwi.command = "x"\n'],
  ['a list over several lines', '[mcp_servers.kiwi]\nargs = [\n  "x",\n]\n'],
  ['a text that looks like a table', '[mcp_servers.kiwi]\nnote = """\n[x]\n"""\ncommand = "x"\n'],
])('X9: %s is refused rather than spoilt, with what to write', async (_, text) => {
  await expect(set(text)).rejects.toMatchObject({
    code: 'CONFLICT',
    hint: expect.stringContaining('[mcp_servers.kiwi]'),
  })
})

test('X9: what is no TOML is refused with its place', async () => {
  await expect(set('a = \n')).rejects.toMatchObject({
    code: 'PARSE_ERROR',
    message: expect.stringContaining('line 1'),
  })
})
