import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../shared/json.ts'
import { LIMITS } from '../shared/limits.ts'
import { TOOL_TYPES } from '../shared/tool-type.ts'
import type { Item } from '../spaces/item.ts'
import { sampleItem } from '../../test/fixtures/sample-item.ts'
import { toLinks, walk } from './walk.ts'

const item = (tool_id: string, tool_type: string, executor: string | null, more: JsonObject = {}): Item =>
  sampleItem({ tool_id, tool_type, executor, ...more })
const subprocess = item('subprocess', 'primitive', null)
const httpClient = item('http_client', 'primitive', null)

/** A space that holds exactly these items. */
function walkIn(leaf: Item, ...others: readonly Item[]): Promise<readonly Item[]> {
  const items = new Map<string | null, Item>([leaf, ...others].map((known) => [known.id, known]))
  return walk(leaf, { spaces: [], executorOf: async ({ manifest }) => items.get(manifest.executor) ?? null })
}
const idsIn = async (leaf: Item, ...others: readonly Item[]): Promise<readonly string[]> =>
  (await walkIn(leaf, ...others)).map(({ id }) => id)

test('T3: a chain leads from the tool over its runtime to the primitive', async () => {
  const runtime = item('python_runtime', 'runtime', 'subprocess', { version: '2.1.0' })
  const items = await walkIn(item('email_enricher', 'script', 'python_runtime'), runtime, subprocess)
  expect(toLinks(items)).toEqual([
    {
      depth: 0,
      tool_id: 'email_enricher',
      tool_type: 'script',
      executor_id: 'python_runtime',
      version: '1.0.0',
      space: 'project',
    },
    {
      depth: 1,
      tool_id: 'python_runtime',
      tool_type: 'runtime',
      executor_id: 'subprocess',
      version: '2.1.0',
      space: 'project',
    },
    {
      depth: 2,
      tool_id: 'subprocess',
      tool_type: 'primitive',
      executor_id: null,
      version: '1.0.0',
      space: 'project',
    },
  ])
})

describe('C4, CHN-01: a chain that comes back to itself is refused with its ids in order', () => {
  test('a -> b -> a', async () => {
    const a = item('a', 'runtime', 'b')
    await expect(walkIn(a, item('b', 'runtime', 'a'))).rejects.toMatchObject({
      code: 'EXECUTOR_CYCLE',
      message: 'Cannot run "a": its chain loops at "a"',
      details: { chain: ['a', 'b', 'a'] },
    })
  })

  test('a -> a', async () => {
    await expect(walkIn(item('a', 'runtime', 'a'))).rejects.toMatchObject({
      code: 'EXECUTOR_CYCLE',
      details: { chain: ['a', 'a'] },
    })
  })

  test('a loop further down', async () => {
    const rest = [item('a', 'runtime', 'b'), item('b', 'runtime', 'c'), item('c', 'runtime', 'b')]
    await expect(walkIn(item('s', 'script', 'a'), ...rest)).rejects.toMatchObject({
      code: 'EXECUTOR_CYCLE',
      details: { chain: ['s', 'a', 'b', 'c', 'b'] },
    })
  })
})

test('C4: a chain of over ten links is refused, whatever its links are', async () => {
  const deep = Array.from({ length: 40 }, (_, at) => item(`r${at}`, 'runtime', `r${at + 1}`))
  const [leaf = subprocess, ...others] = deep
  await expect(walkIn(leaf, ...others)).rejects.toMatchObject({
    code: 'EXECUTOR_TOO_DEEP',
    message: 'Cannot run "r0": its chain has over 10 links',
    details: { chain: Array.from({ length: LIMITS.chainLinks + 1 }, (_, at) => `r${at}`) },
  })
})

test('T3: a broken link names the tool and the executor that is missing', async () => {
  const runtime = item('lost_runtime', 'runtime', 'gone_primitive')
  await expect(walkIn(item('s', 'script', 'lost_runtime'), runtime)).rejects.toMatchObject({
    code: 'EXECUTOR_MISSING',
    message: 'Cannot run "s": "lost_runtime" needs the executor "gone_primitive", which does not exist',
    details: {
      tool: 'lost_runtime',
      executor: 'gone_primitive',
      chain: ['s', 'lost_runtime', 'gone_primitive'],
    },
    fix: { call: 'search', arguments: { query: 'gone primitive' } },
  })
})

test('C5: a chain that ends at a runtime without executor names the runtime', async () => {
  await expect(walkIn(item('s', 'script', 'r'), item('r', 'runtime', null))).rejects.toMatchObject({
    code: 'NO_PRIMITIVE',
    message: 'Cannot run "s": its chain ends at "r", which has no executor',
    details: { tool: 'r', chain: ['s', 'r'] },
  })
})

test.each(['knowledge', 'composite', 'primitive'])('C5: a %s needs no executor', async (type) => {
  expect(await idsIn(item('x', type, null))).toEqual(['x'])
})

describe('T1: each type has its own kind of executor', () => {
  const executors = [
    subprocess,
    httpClient,
    item('a_runtime', 'runtime', 'subprocess'),
    item('llm_runtime', 'runtime', 'http_client'),
    item('mcp_server_x', 'mcp_server', 'subprocess'),
    item('a_script', 'script', 'a_runtime'),
  ]
  const allowed: Readonly<Record<string, readonly string[]>> = {
    primitive: [],
    runtime: ['subprocess', 'http_client'],
    mcp_server: ['subprocess', 'http_client'],
    mcp_tool: ['mcp_server_x'],
    script: ['a_runtime', 'llm_runtime'],
    api: ['http_client'],
    directive: ['llm_runtime'],
    thread: ['llm_runtime'],
    knowledge: [],
    composite: [],
  }
  const pairs = TOOL_TYPES.flatMap((type) => executors.map((executor) => [type, executor.id] as const))

  test.each(pairs)('a %s on %s', async (type, executor) => {
    const walked = walkIn(item('leaf', type, executor), ...executors)
    if (allowed[type]?.includes(executor)) {
      expect((await walked).map(({ id }) => id)).toEqual(expect.arrayContaining(['leaf', executor]))
      return
    }
    await expect(walked).rejects.toMatchObject({
      code: 'INVALID_MANIFEST',
      message: expect.stringContaining(`the executor of "leaf" is "${executor}"`),
      details: { invalid: [{ name: 'executor' }] },
    })
  })

  test('a wrong kind further down is named, too', async () => {
    const runtime = item('r', 'runtime', 'a_script')
    await expect(walkIn(item('leaf', 'script', 'r'), runtime, ...executors)).rejects.toMatchObject({
      code: 'INVALID_MANIFEST',
      message: 'Cannot run "leaf": the executor of "r" is "a_script", a script; it needs a primitive',
    })
  })
})
