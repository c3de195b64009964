import { afterEach, beforeEach, expect, test } from 'vitest'
import { begin } from '../fixtures/directive-kiwi.ts'
import { field, textField } from '../fixtures/field.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { openTempKiwi } from '../temp-kiwi.ts'

let temp: TempKiwi
beforeEach(async () => {
  temp = await openTempKiwi()
})
afterEach(() => temp.close())

test('X11, D13: a skill is run: its text is the one step, its files can be loaded, what it asks for is no grant', async () => {
  temp.write(
    'directives/pdf-forms/SKILL.md',
    '---\nname: pdf-forms\ndescription: Fills in forms\nallowed-tools: Read Bash(python:*)\n---\nRun scripts/fill.py on the form.\n',
  )
  temp.write('directives/pdf-forms/scripts/fill.py', 'print("filled")\n')
  const reply = await begin(temp, 'pdf-forms')
  expect(reply).toMatchObject({
    status: 'ready',
    data: {
      directive: {
        name: 'pdf-forms',
        process: [{ action: expect.stringContaining('Run scripts/fill.py') }],
        files: { paths: ['scripts/fill.py'], load: { item_type: 'directive', item_id: 'pdf-forms' } },
      },
      tool_context: { filesystem: { available: false }, shell: { available: false } },
      permissions: { granted: [] },
    },
  })
  const load = { ...Object(field(reply.data, 'directive', 'files', 'load')), path: 'scripts/fill.py' }
  expect((await temp.call('load', load)).status).toBe('success')
})

test('D1, D9: an old directive in bare XML is run, with the permissions of its dialect', async () => {
  temp.write(
    'directives/old/tidy.md',
    '<directive name="tidy" version="0.3.0">\n<metadata><description>Tidies up</description><category>old</category>\n<permissions><execute><tool>hello_bash</tool></execute><filesystem><read paths="docs/**"/></filesystem></permissions></metadata>\n<process><step name="greet"><tool_call><mcp>kiwi-mcp</mcp><tool>execute</tool><params><item_type>tool</item_type><item_id>hello_bash</item_id></params></tool_call></step></process>\n</directive>\n',
  )
  const reply = await begin(temp, 'tidy')
  expect(reply).toMatchObject({
    status: 'ready',
    data: {
      directive: { version: '0.3.0', process: [{ name: 'greet', calls: [{ tool: 'kiwi.execute' }] }] },
      tool_context: {
        filesystem: { constraints: { read_paths: ['docs/**'] } },
        scripts: { tools: [{ name: 'hello_bash' }] },
      },
      warnings: [],
    },
  })
})

test('D1, D13: front matter means the same as XML', async () => {
  temp.write(
    'directives/tidy.md',
    '---\nname: tidy\nversion: 1.0.0\ndescription: Tidies up\npermissions:\n  - read: {resource: filesystem, path: "**/*"}\n  - execute: {resource: tool, id: hello_bash}\ntools:\n  - filesystem: {read: ["docs/**"]}\ninputs:\n  - {name: who, type: string, required: true, description: Whom to greet}\nsteps:\n  - {name: greet, action: "Greet {who}", calls: [{tool: hello_bash, parameters: {name: "{who}"}}]}\n---\nFree text.\n',
  )
  const reply = await begin(temp, 'tidy', { parameters: { who: 'Ada' } })
  expect(reply.data).toMatchObject({
    directive: {
      inputs: { who: 'Ada' },
      process: [
        { name: 'greet', action: 'Greet Ada', calls: [{ tool: 'hello_bash', parameters: { name: 'Ada' } }] },
      ],
    },
    tool_context: { filesystem: { constraints: { read_paths: ['docs/**'], write_paths: [] } } },
  })
  expect(textField(reply.data, 'run_id')).toHaveLength(26)
})

test('D13: a call of a step that would be refused is said before it is made', async () => {
  temp.write(
    'directives/d.md',
    '<directive name="d" version="1.0.0"><metadata><description>d</description></metadata><process><step name="one"><tool_call tool="hello_bash"/><search query="x"/></step></process></directive>\n',
  )
  expect(field((await begin(temp, 'd')).data, 'warnings')).toEqual([
    'step "one" calls "hello_bash", which it may not use',
  ])
})

test.each([
  ['malformed', '<directive name="d" version="1.0.0"><process></directive>'],
  ['with a bare &', '<directive name="d" version="1.0.0"><process>a & b</process></directive>'],
  [
    'with an entity of its own',
    '<!DOCTYPE d [<!ENTITY a "b">]><directive name="d" version="1.0.0">&a;</directive>',
  ],
])('D1: a directive that is %s begins nothing', async (_, text) => {
  temp.write('directives/d.md', text)
  const { error, data } = await begin(temp, 'd')
  expect(error?.code).toBe('PARSE_ERROR')
  expect(data).toBeNull()
})
