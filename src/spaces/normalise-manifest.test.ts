import { expect, test } from 'vitest'
import type { JsonObject } from '../shared/json.ts'
import { readManifest } from './manifest.ts'

const read = (raw: JsonObject) => readManifest(raw, { stem: 'stem', category: null }).manifest

test('R1: a command of type docker is that of the container', () => {
  const config = { image: 'alpine', command: 'echo', args: ['hi'], volumes: ['/a:/b'] }
  const own = { image: 'alpine', container_args: ['echo', 'hi'], volumes: ['/a:/b'] }
  for (const given of [{ tool_type: 'docker' }, { tool_type: 'script', executor: 'docker_runtime' }])
    expect(read({ executor: null, ...given, config })).toMatchObject({
      tool_type: 'script',
      executor: 'docker_command_runtime',
      config: own,
    })
})
