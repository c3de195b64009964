import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Client } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { definition } from '../fixtures/directive-kiwi.ts'
import { field, listField } from '../fixtures/field.ts'
import type { Place } from '../fixtures/place.ts'
import { makePlace } from '../fixtures/place.ts'
import { shiftingServer, writeServers } from '../fixtures/shifting-server.ts'
import { stdioClient } from '../fixtures/stdio-client.ts'
import { kiwi } from './temp-server.ts'

const DIRECTIVE = `<directive name="ship" version="1.0.0">
  <metadata>
    <description>Looks at a project, notes it and opens an issue</description>
    <permissions>
      <execute resource="mcp" name="tracker" tools="create_issue"/>
      <write resource="filesystem" path="notes/**"/>
    </permissions>
    <tools>
      <mcp name="tracker" required="true" alias="bugs"><tool>create_issue</tool></mcp>
      <filesystem><write paths="notes/**"/></filesystem>
      <script name="hello_bash"/>
    </tools>
  </metadata>
  <inputs><input name="title" required="true">Of the issue</input><input name="urgent" type="boolean" default="true"/></inputs>
  <process>
    <step name="greet"><tool_call tool="hello_bash"/></step>
    <step name="note">
      <tool_call tool="filesystem.write"><param name="path">notes/{title}.md</param><param name="content">{title}</param></tool_call>
    </step>
    <step name="open">
      <tool_calls><call mcp="bugs" tool="create_issue"><param name="title">{title}</param><param name="urgent">{urgent}</param><param name="points">3</param></call></tool_calls>
    </step>
  </process>
</directive>
`

let place: Place
let client: Client
const asked: string[] = []
const issues = definition('create_issue', 'Opens an issue', 'title', 'urgent:boolean', 'points:integer')

beforeAll(async () => {
  place = makePlace()
  const folder = join(place.env['KIWI_USER_SPACE'] ?? '', 'directives')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'ship.md'), DIRECTIVE)
  const { entry } = shiftingServer(place, 'tracker', { tools: [issues] })
  writeServers(place, 'user', { tracker: entry })
  ;({ client } = await stdioClient(place))
})
afterAll(async () => {
  await client.close()
  place.remove()
})

async function execute(args: Record<string, unknown>): Promise<unknown> {
  asked.push(String(args['action']))
  const { structuredContent } = await client.callTool({ name: 'execute', arguments: args })
  return structuredContent
}

test('D14: a client that only does what it was handed comes to the end, without search or load', async () => {
  const ready = await execute({
    item_type: 'directive',
    action: 'run',
    item_id: 'ship',
    parameters: { title: 'broken' },
  })
  expect(ready).toMatchObject({ status: 'ready', error: null })
  const example = Object(field(ready, 'data', 'call_format', 'example'))
  const steps = listField(ready, 'data', 'directive', 'process')
  const outputs: unknown[] = []
  for (const call of steps.flatMap((step) => listField(step, 'calls'))) {
    const made = await execute({
      ...example,
      item_id: field(call, 'tool'),
      parameters: field(call, 'parameters'),
    })
    expect(made).toMatchObject({ status: 'success', error: null })
    outputs.push(field(made, 'data', 'output'))
  }
  expect(outputs.at(-1)).toBe(JSON.stringify({ title: 'broken', urgent: true, points: 3 }))
  expect(await execute(Object(field(ready, 'data', 'finish')))).toMatchObject({ status: 'success' })
  expect(asked).toEqual(['run', 'run', 'run', 'run', 'finish'])
  const { stdout } = await kiwi(place, ['audit', '--run', String(example.run_id)])
  for (const word of ['hello_bash', 'filesystem.write', 'bugs.create_issue', 'execute.finish'])
    expect(stdout).toContain(word)
})
