import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../shared/json.ts'
import { readScript } from './script.ts'

const read = async (fileName: string, text: string): Promise<JsonObject> =>
  (await readScript({ stem: 'a', fileName, path: '/p', text })).raw

describe('L2: what a shell script says of itself', () => {
  test('description, metadata and parameters in the comments at its top', async () => {
    const text = `#!/bin/bash
# Deploys the app
# to staging.
#
# More words.
# version: 1.2.0
# category: deploy/web
# __mutates_state__ = False
# param target (string, required): where to
# param force (bool): all the same

set -e
# version: 9.9.9
`
    expect(await read('a.sh', text)).toEqual({
      tool_id: 'a',
      tool_type: 'script',
      executor: 'bash_runtime',
      version: '1.2.0',
      description: 'Deploys the app to staging.',
      category: 'deploy/web',
      config: { entrypoint: 'a.sh' },
      parameters: [
        { name: 'target', type: 'string', required: true, description: 'where to' },
        { name: 'force', type: 'boolean', required: false, description: 'all the same' },
      ],
      mutates_state: false,
      _file: 'a.sh',
      _documentation: 'Deploys the app\nto staging.\n\nMore words.',
    })
  })

  test.each<readonly [string, string, JsonObject]>([
    [
      'names as Python has them',
      '# __version__ = "1.0.0"\n# __category__ = \'x\'\n',
      { version: '1.0.0', category: 'x' },
    ],
    [
      'metadata before the description',
      '#!/bin/sh\n# version: 1.0.0\n\n# What it does.\n',
      {
        description: 'What it does.',
        version: '1.0.0',
      },
    ],
    ['no shebang', 'echo hi\n', { executor: 'bash_runtime', _virtual: true }],
    [
      'line ends of Windows',
      '#!/bin/bash\r\n# Does it.\r\n# version: 1.0.0\r\n',
      {
        description: 'Does it.',
        version: '1.0.0',
      },
    ],
  ])('%s', async (_, text, raw) => {
    expect(await read('a.sh', text)).toMatchObject(raw)
  })
})

describe('L2: what a JavaScript or TypeScript file says of itself', () => {
  test('constants at its top level and tags of its first comment', async () => {
    const text = `#!/usr/bin/env node
// not this
/**
 * Fetches a page
 * and reads it.
 *
 * @version 1.0.0
 * @category web
 * @param {string} url the page
 * @param {number} [depth] how deep
 * @param {string} [mode=fast] - how
 * @param {string[]} tags what for
 */
/* nor this */
import { x } from 'x'
export const CONFIG = { timeout: 5, /* s */ env: { A: '1' } } as const
const requires = ["axios"]
`
    expect(await read('a.mjs', text)).toEqual({
      tool_id: 'a',
      tool_type: 'script',
      executor: 'node_runtime',
      version: '1.0.0',
      description: 'Fetches a page and reads it.',
      category: 'web',
      config: { timeout: 5, env: { A: '1' }, requires: ['axios'], entrypoint: 'a.mjs' },
      parameters: [
        { name: 'url', type: 'string', required: true, description: 'the page' },
        { name: 'depth', type: 'number', required: false, description: 'how deep' },
        { name: 'mode', type: 'string', required: false, description: 'how', default: 'fast' },
        { name: 'tags', type: 'array', required: true, description: 'what for' },
      ],
      mutates_state: true,
      _file: 'a.mjs',
      _documentation: expect.stringContaining('@version 1.0.0'),
    })
  })

  test.each<readonly [string, string, JsonObject]>([
    [
      'constants win over tags',
      '/** @version 1.0.0 */\nexport const __version__ = "2.0.0"',
      { version: '2.0.0' },
    ],
    ['a typed constant', 'export const __version__: string = `1.2.3`;', { version: '1.2.3' }],
    [
      'the schema it names',
      'const CONFIG_SCHEMA = {type: "object", properties: {a: {type: "string"}}}',
      {
        input_schema: { type: 'object', properties: { a: { type: 'string' } } },
      },
    ],
    [
      'no constant inside a function or a text',
      'function f() {\n  const __version__ = "9.0.0"\n}\nconst t = `\nconst __version__ = "8.0.0"\n`',
      {
        version: '1.0.0',
        _virtual: true,
      },
    ],
    [
      'a type and an executor of its own',
      'const __tool_type__ = "node"\nconst __executor_id__ = "bun_runtime"',
      {
        tool_type: 'node',
        executor: 'bun_runtime',
      },
    ],
  ])('%s', async (_, text, raw) => {
    expect(await read('a.ts', text)).toMatchObject(raw)
  })

  test('a computed constant is reported by name', async () => {
    const { warnings } = await readScript({
      stem: 'a',
      fileName: 'a.js',
      path: '/p',
      text: 'const CONFIG = { a: make() }\nconst __version__ = "1" + "2"',
    })
    expect(warnings).toEqual(
      ['CONFIG', '__version__'].map((name) => `${name} is computed when the file runs: it is not read`),
    )
  })

  test.each<readonly [string, string, JsonObject]>([
    [
      'a default function',
      'export default async function ({ a }) {}',
      { args_style: 'call', entry_function: 'default' },
    ],
    ['main', 'export function main(a) {}', { args_style: 'call', entry_function: 'main' }],
    ['run', 'export const run = async () => 1', { args_style: 'call', entry_function: 'run' }],
    ['one that calls itself', 'export async function main() {}\nawait main()', {}],
    ['one that reads its arguments', 'export function main() { process.argv }', {}],
    ['none', 'console.log(1)', {}],
  ])('R20: an exported function is called: %s', async (_, text, config) => {
    expect((await read('a.mjs', text))['config']).toEqual({ entrypoint: 'a.mjs', ...config })
  })
})
