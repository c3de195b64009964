import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { build } from 'rolldown'
import type { Place } from '../fixtures/place.ts'
import { makePlace } from '../fixtures/place.ts'

/** Nobody's model is used by a server unless somebody said so. */
const MAY_SAMPLE = '{ op: tool, match: { server: fixture, actions: sample }, effect: allow }'

/** A place with the fixture of the suite as the server `fixture`, started as a program, and what is decided there. */
export async function makeFixturePlace(rules: readonly string[] = [MAY_SAMPLE]): Promise<Place> {
  const place = makePlace()
  await build({
    input: { fixture: join(import.meta.dirname, 'fixture-stdio.ts') },
    platform: 'node',
    external: [/^node:/],
    output: { dir: place.folder, format: 'esm', entryFileNames: '[name].mjs' },
  })
  const write = (path: string, text: string): void => {
    const target = join(place.folder, 'user', path)
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, text)
  }
  const item = {
    tool_id: 'mcp_fixture',
    tool_type: 'mcp_server',
    executor: 'subprocess',
    version: '1.0.0',
    description: 'The server of the conformance suite',
    config: { transport: 'stdio', command: process.execPath, args: [join(place.folder, 'fixture.mjs')] },
  }
  write('tools/mcp/mcp_fixture.json', JSON.stringify(item))
  write(
    'config/agent_harness.yaml',
    ['mode: direct', 'rules:', ...rules.map((rule) => `  - ${rule}`), ''].join('\n'),
  )
  return place
}
