import { expect } from 'vitest'
import { TOOL_TYPES, TYPE_RULES } from '../../src/shared/tool-type.ts'
import type { NewVersion } from '../../src/store/store.ts'
import { sampleEntry, sampleRecord, sampleVersion } from '../fixtures/store-samples.ts'
import type { Cases } from './store-bed.ts'

const text = (content: string): Uint8Array => new TextEncoder().encode(content)

const files = [
  { path: 'bin/run.sh', content: text('#!/bin/sh\necho "ü"\n'), isExecutable: true },
  {
    path: 'data.bin',
    content: Uint8Array.from({ length: 100_000 }, (_, n) => n % 256),
    isExecutable: false,
  },
  { path: 'edge/63k.txt', content: text('é'.repeat(32_767)), isExecutable: false },
  { path: 'edge/64k.txt', content: text('é'.repeat(32_768)), isExecutable: false },
  { path: 'edge/bom.txt', content: text('\uFEFFmark'), isExecutable: false },
  { path: 'edge/broken.txt', content: Uint8Array.of(0x61, 0xff, 0x62), isExecutable: false },
  { path: 'edge/empty', content: new Uint8Array(0), isExecutable: false },
  { path: 'edge/nul.txt', content: text('a\0b'), isExecutable: false },
]
const manifest_yaml = '# a comment\r\ntool_id: sample   # kept\n\n'

export const roundTripCases: Cases = {
  async 'T4: manifest text and files come back byte for byte'(bed) {
    const store = await bed.open()
    const manifest = { tool_id: 'sample', config: { z: 1, a: ['ü', null, true, 1.5] } }
    await store.registry.publish(sampleVersion({ manifest, manifest_yaml, files, entrypoint: 'bin/run.sh' }))
    const other = await bed.open()
    expect(await other.registry.files('sample', '1.0.0')).toEqual(files)
    expect(await other.registry.version('sample', null)).toMatchObject({ manifest, manifest_yaml })
  },

  async 'T4: two versions may share a large file, and removing the tool removes it once'(bed) {
    const store = await bed.open()
    await store.registry.publish(sampleVersion({ files }))
    await store.registry.publish(sampleVersion({ version: '1.1.0', files }))
    await store.registry.publish(sampleVersion({ tool_id: 'other', files }))
    await store.registry.remove('sample')
    expect(await store.registry.files('other', '1.0.0')).toEqual(files)
  },

  async 'T5: a removed version comes back as it was, and never with other content'(bed) {
    const { registry } = await bed.open()
    const both = [
      await registry.publish(sampleVersion()),
      await registry.publish(sampleVersion({ version: '1.1.0' })),
    ]
    await registry.remove('sample')
    const other = await bed.open()
    const changed = { content_hash: 'f'.repeat(64) }
    for (const { version, content_hash } of both) {
      expect(await other.registry.publishedHash('sample', version)).toBe(content_hash)
      await expect(other.registry.publish(sampleVersion({ version, ...changed }))).rejects.toMatchObject({
        code: 'VERSION_EXISTS',
        details: { tool_id: 'sample', version, published_hash: content_hash, ...changed },
      })
    }
    expect(await registry.versions('sample')).toEqual([])
    expect(await other.registry.publish(sampleVersion())).toMatchObject({ version: '1.0.0' })
    expect(await registry.publish(sampleVersion({ version: '1.2.0', ...changed }))).toMatchObject(changed)
    expect(await registry.publishedHash('sample', '3.0.0')).toBeNull()
    // What was removed twice is still what it was the first time.
    await registry.remove('sample')
    await expect(registry.publish(sampleVersion(changed))).rejects.toMatchObject({ code: 'VERSION_EXISTS' })
  },

  async 'T5: removing a tool removes its versions and files, and its id is free again'(bed) {
    const { registry } = await bed.open()
    await registry.publish(sampleVersion({ files }))
    await registry.publish(sampleVersion({ version: '2.0.0' }))
    await registry.remove('sample')
    expect(await registry.version('sample', null)).toBeNull()
    expect(await registry.versions('sample')).toEqual([])
    expect(await registry.files('sample', '1.0.0')).toEqual([])
    await registry.publish(sampleVersion({ version: '3.0.0', description: 'another one' }))
    expect(await registry.files('sample', '3.0.0')).toEqual([])
    await expect(registry.remove('absent')).rejects.toMatchObject({ code: 'NOT_FOUND' })
  },
}

export const latestCases: Cases = {
  async 'T10: latest moves only forward, and a pinned version stays what it was'(bed) {
    const { registry } = await bed.open()
    await registry.publish(
      sampleVersion({ version: '1.0.0', executor_id: 'old_runtime', changelog: 'first' }),
    )
    await registry.publish(sampleVersion({ version: '1.10.0' }))
    await registry.publish(sampleVersion({ version: '1.9.0', executor_id: 'old_runtime' }))
    expect(await registry.version('sample', null)).toMatchObject({
      version: '1.10.0',
      executor_id: 'python_runtime',
    })
    expect(await registry.version('sample', '1.0.0')).toMatchObject({
      version: '1.0.0',
      executor_id: 'old_runtime',
    })
    const versions = await registry.versions('sample')
    expect(versions.map(({ version, is_latest }) => [version, is_latest])).toEqual([
      ['1.10.0', true],
      ['1.9.0', false],
      ['1.0.0', false],
    ])
    expect(versions.map(({ changelog }) => changelog)).toEqual([null, null, 'first'])
  },

  async 'T4: the latest version has the whole category of its tool; an older one says its own'(bed) {
    const { registry } = await bed.open()
    await registry.publish(sampleVersion({ version: '1.0.0', category: 'old' }))
    await registry.publish(sampleVersion({ version: '2.0.0', category: 'dev/git/hooks' }))
    expect(await registry.version('sample', null)).toMatchObject({ category: 'dev/git/hooks' })
    expect((await registry.nodes(['sample'])).get('sample')).toMatchObject({ category: 'dev/git/hooks' })
    expect(await registry.version('sample', '1.0.0')).toMatchObject({ category: null })
  },

  async 'T10: a range gives the highest version in it, prereleases only when it names them'(bed) {
    const { registry } = await bed.open()
    for (const version of ['1.0.0', '1.2.0', '1.3.0-beta.1', '2.0.0']) {
      await registry.publish(sampleVersion({ version }))
    }
    const pick = async (range: string): Promise<string | undefined> =>
      (await registry.version('sample', range))?.version
    expect(await pick('^1')).toBe('1.2.0')
    expect(await pick('1.x || 2.x')).toBe('2.0.0')
    expect(await pick('1.3.0-beta.1')).toBe('1.3.0-beta.1')
    expect(await pick('^1.3.0-beta.0')).toBe('1.3.0-beta.1')
    expect(await pick('3.0.0')).toBeUndefined()
    expect(await registry.version('absent', '^1')).toBeNull()
    await expect(registry.version('sample', 'newest please')).rejects.toMatchObject({
      code: 'INVALID_PARAMETERS',
    })
  },

  async 'T5: publishes at once through two handles lose nothing and leave one latest'(bed) {
    const [a, b] = [await bed.open(), await bed.open()]
    const numbers = Array.from({ length: 50 }, (_, n) => (n * 17) % 50)
    await Promise.all(
      numbers.map((n) => (n % 2 === 0 ? a : b).registry.publish(sampleVersion({ version: `1.${n}.0` }))),
    )
    const versions = await a.registry.versions('sample')
    expect(versions).toHaveLength(50)
    expect(versions.filter(({ is_latest }) => is_latest).map(({ version }) => version)).toEqual(['1.49.0'])
    expect(await b.registry.version('sample', null)).toMatchObject({ version: '1.49.0' })
  },
}

export const refusalCases: Cases = {
  async 'T5: a version stands with its content; the same content again changes nothing'(bed) {
    const { registry } = await bed.open()
    const first = await registry.publish(sampleVersion({ changelog: 'first' }))
    const other = await bed.open()
    expect(await other.registry.publish(sampleVersion({ changelog: 'second' }))).toEqual(first)
    await expect(registry.publish(sampleVersion({ content_hash: 'f'.repeat(64) }))).rejects.toMatchObject({
      code: 'VERSION_EXISTS',
      details: {
        tool_id: 'sample',
        version: '1.0.0',
        content_hash: 'f'.repeat(64),
        published_hash: first.content_hash,
      },
    })
    expect(await registry.versions('sample')).toMatchObject([{ changelog: 'first' }])
  },

  async 'T5: of two handles that publish one version with different content, one wins'(bed) {
    const [a, b] = [await bed.open(), await bed.open()]
    const results = await Promise.allSettled([
      a.registry.publish(sampleVersion({ content_hash: 'a'.repeat(64) })),
      b.registry.publish(sampleVersion({ content_hash: 'b'.repeat(64) })),
    ])
    const refused = results.filter(({ status }) => status === 'rejected')
    expect(refused).toMatchObject([{ reason: { code: 'VERSION_EXISTS' } }])
    expect(await a.registry.version('sample', null)).toEqual(await b.registry.version('sample', null))
  },

  async 'T1 R2: each of the ten types is stored, and an executor is there exactly where the type has one'(
    bed,
  ) {
    const { registry } = await bed.open()
    for (const tool_type of TOOL_TYPES) {
      const executor_id = TYPE_RULES[tool_type].executor === null ? null : 'some_executor'
      const stored = await registry.publish(sampleVersion({ tool_id: tool_type, tool_type, executor_id }))
      expect(stored).toMatchObject({ tool_type, executor_id, is_builtin: false, is_official: false })
      const wrong = executor_id === null ? 'some_executor' : null
      await expect(
        registry.publish(sampleVersion({ tool_id: `wrong_${tool_type}`, tool_type, executor_id: wrong })),
      ).rejects.toMatchObject({ code: 'INVALID_MANIFEST', details: { invalid: [{ name: 'executor' }] } })
    }
  },

  async 'T10: what is no semantic version, no path inside the item or another type is refused, and nothing is left'(
    bed,
  ) {
    const { registry } = await bed.open()
    for (const version of ['', '1', '1.0', 'v1.0.0', ' 1.0.0', '1.0.0 ', 'latest', '1.0.0.0']) {
      await expect(registry.publish(sampleVersion({ version })), version).rejects.toMatchObject({
        code: 'INVALID_MANIFEST',
      })
    }
    for (const path of ['', '/etc/passwd', '../x', 'a/../../x', '..']) {
      const outside = [{ path, content: text('x'), isExecutable: false }]
      await expect(registry.publish(sampleVersion({ files: outside })), path).rejects.toMatchObject({
        code: 'INVALID_MANIFEST',
      })
    }
    const twice = { path: 'a', content: text('x'), isExecutable: false }
    await expect(registry.publish(sampleVersion({ files: [twice, twice] }))).rejects.toMatchObject({
      code: 'INVALID_MANIFEST',
    })
    expect(await registry.versions('sample')).toEqual([])
    await registry.publish(sampleVersion())
    await expect(
      registry.publish(sampleVersion({ version: '2.0.0', tool_type: 'knowledge', executor_id: null })),
    ).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(await registry.version('sample', null)).toMatchObject({ version: '1.0.0', tool_type: 'script' })
  },
}

const link = (tool_id: string, executor_id: string): NewVersion => sampleVersion({ tool_id, executor_id })

export const resolveCases: Cases = {
  async 'T3 T12: a chain runs from the leaf to the primitive and ends at a gap or where it comes back to itself'(
    bed,
  ) {
    const { registry } = await bed.open()
    const end = sampleVersion({ tool_id: 'end', tool_type: 'primitive', executor_id: null })
    for (const item of [end, link('middle', 'end'), link('leaf', 'middle')]) await registry.publish(item)
    for (const item of [link('a', 'b'), link('b', 'a'), link('self', 'self'), link('cut', 'gone')]) {
      await registry.publish(item)
    }
    expect(await registry.chain('leaf')).toEqual([
      { depth: 0, tool_id: 'leaf', tool_type: 'script', executor_id: 'middle' },
      { depth: 1, tool_id: 'middle', tool_type: 'script', executor_id: 'end' },
      { depth: 2, tool_id: 'end', tool_type: 'primitive', executor_id: null },
    ])
    const ids = async (toolId: string): Promise<readonly string[]> =>
      (await registry.chain(toolId)).map(({ tool_id }) => tool_id)
    expect(await ids('a')).toEqual(['a', 'b'])
    expect(await ids('self')).toEqual(['self'])
    expect(await ids('cut')).toEqual(['cut'])
    expect(await ids('gone')).toEqual([])
  },

  async 'T12: a chain is cut at ten links'(bed) {
    const { registry } = await bed.open()
    for (let n = 0; n < 12; n++) await registry.publish(link(`t${n}`, `t${n + 1}`))
    expect(await registry.chain('t0')).toHaveLength(10)
    expect(await registry.chain('t5')).toHaveLength(7)
  },

  async 'T12: the nodes of any number of ids bring every executor they lead to, in its latest version'(bed) {
    const { registry } = await bed.open()
    const many = Array.from({ length: 60 }, (_, n) => `leaf${n}`)
    await Promise.all(many.map((tool_id) => registry.publish(link(tool_id, 'shared'))))
    await registry.publish(link('shared', 'loop'))
    await registry.publish(link('loop', 'shared'))
    await registry.publish(sampleVersion({ tool_id: 'shared', executor_id: 'loop', version: '2.0.0' }))
    const nodes = await registry.nodes([...many, 'absent'])
    expect([...nodes.keys()].toSorted()).toEqual([...many, 'loop', 'shared'].toSorted())
    expect(nodes.get('shared')).toEqual(await registry.version('shared', null))
    expect((await registry.nodes([])).size).toBe(0)
    expect((await registry.nodes(['"]; DROP TABLE tools', 'leaf0'])).size).toBe(3)
  },

  async 'E2: the generation grows with the registry, whoever changes it, and with nothing else'(bed) {
    const [store, other] = [await bed.open(), await bed.open()]
    const start = store.generation()
    await other.journal.append([sampleRecord('c1')], 'normal')
    await other.index.update({ space: 'user', root: '/u' }, [sampleEntry()], [])
    await store.journal.append([sampleRecord('c2')], 'normal')
    expect([store.generation(), other.generation()]).toEqual([start, start])
    await other.registry.publish(sampleVersion())
    const afterOther = store.generation()
    expect(afterOther).toBeGreaterThan(start)
    expect(other.generation()).toBe(afterOther)
    await store.registry.publish(sampleVersion())
    expect(store.generation()).toBe(afterOther)
    await store.registry.remove('sample')
    expect(store.generation()).toBeGreaterThan(afterOther)
    expect(other.generation()).toBe(store.generation())
  },
}
