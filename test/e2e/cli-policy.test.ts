import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Place } from '../fixtures/place.ts'
import { makePlace } from '../fixtures/place.ts'
import { kiwi } from './temp-server.ts'

let place: Place
beforeEach(() => {
  place = makePlace()
})
afterEach(() => place.remove())

const write = (path: string, text: string): void => {
  const file = join(place.project, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

test('H1, R52: doctor names each file, its mode, what it says in vain, and what the client has besides Kiwi', async () => {
  write(
    '.ai/config/agent_harness.yaml',
    'mode: direct\nallowed_mcps: [kiwi-mcp]\nnotify: { desktop: true }\n',
  )
  write('.mcp.json', JSON.stringify({ mcpServers: { 'kiwi-mcp': {}, github: {} } }))
  write('.cursor/mcp.json', 'not json')
  write('.vscode/mcp.json', JSON.stringify({ servers: { 'kiwi-mcp': {} } }))
  const { stdout, code } = await kiwi(place, ['doctor'])
  expect(stdout).toMatch(/ok +policy +project, direct mode: .*agent_harness\.yaml/)
  expect(stdout).toMatch(/warn +policy +.*where notices go, which a project cannot/)
  expect(stdout).toMatch(
    /warn +client +\.mcp\.json gives the agent github, which allowed_mcps of .* does not list/,
  )
  expect(stdout).not.toContain('.vscode/mcp.json')
  expect(code).toBe(0)
})

test('H1: doctor tells what one file allows and another denies, with both lines', async () => {
  write(
    '.ai/config/agent_harness.yaml',
    'mode: direct\ninternal_tools: { shell: { allowed_commands: [curl] } }\n',
  )
  const user = join(place.folder, 'user/config/agent_harness.yaml')
  mkdirSync(dirname(user), { recursive: true })
  writeFileSync(user, 'mode: direct\ninternal_tools:\n  shell: { blocked_commands: [curl] }\n')
  const { stdout, code } = await kiwi(place, ['doctor'])
  expect(stdout).toMatch(
    /warn +policy +the program "curl" is allowed at .*\.ai\/config\/agent_harness\.yaml:2 and denied at .*agent_harness\.yaml:3/,
  )
  expect(code).toBe(0)
})

test('H9: notices that cannot be sent are named by doctor', async () => {
  const user = join(place.folder, 'user/config/agent_harness.yaml')
  mkdirSync(dirname(user), { recursive: true })
  writeFileSync(user, 'mode: direct\nnotify: { email: ada@example.org, desktop: true }\n')
  const { stdout } = await kiwi(place, ['doctor'])
  expect(stdout).toMatch(
    /warn +policy +.*agent_harness\.yaml asks for notices by email and desktop, .* none are sent/,
  )
  writeFileSync(user, 'mode: direct\nnotify: { webhook: "https://example.org/hook", desktop: false }\n')
  expect((await kiwi(place, ['doctor'])).stdout).not.toContain('notices by')
})

test('H1, PRM-12: a file with a fault is named by doctor, and nothing runs until it is corrected', async () => {
  write(
    '.ai/config/agent_harness.yaml',
    'mode: direct\nrules:\n  - { op: exec, match: { program: bin/x }, effect: deny }\n',
  )
  const doctor = await kiwi(place, ['doctor'])
  expect(doctor.stdout).toMatch(
    /fail +policy +.*agent_harness\.yaml:3:26: "bin\/x" is a path that is not absolute/,
  )
  expect(doctor.code).toBe(4)
  const refused = await kiwi(place, ['run', 'hello_bash'])
  expect(refused).toMatchObject({ code: 4, stderr: expect.stringContaining('POLICY_ERROR') })
})
