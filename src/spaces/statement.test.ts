import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sampleFile, sampleItem } from '../../test/fixtures/sample-item.ts'
import type { JsonObject } from '../shared/json.ts'
import type { ItemFile } from '../store/store.ts'
import type { Item } from './item.ts'
import { withSignature } from './signature-line.ts'
import { statementOf } from './statement.ts'

const RAW = {
  tool_id: 'a',
  tool_type: 'script',
  executor: 'bash_runtime',
  version: '1.0.0',
  description: 'x',
}
const FILES = [sampleFile('main.sh', 'echo 1'), sampleFile('lib/part.sh', 'true', true)]

function stated(given: {
  raw?: JsonObject
  text?: string | null
  files?: readonly ItemFile[]
  executors?: readonly string[]
  by?: 'agent' | 'person'
  created?: string
  more?: Partial<Item>
}): string {
  const { raw = {}, text = 'text: 1\n', files = FILES, by = 'person', created = 't', more = {} } = given
  const item = { ...sampleItem({ ...RAW, ...raw }, files), text, ...more }
  return statementOf({ item, files, executors: given.executors ?? ['b', 'c'], by, created })
}

describe('N12: what a key signs', () => {
  test('SIG-04: everything that decides what runs is in it', () => {
    const statements = [
      stated({}),
      stated({ raw: { tool_id: 'b' } }),
      stated({ raw: { version: '1.0.1' } }),
      stated({ raw: { tool_type: 'runtime', executor: 'subprocess' } }),
      stated({ text: 'text: 2\n' }),
      stated({ text: null }),
      stated({ text: null, raw: { config: { timeout: 1 } } }),
      stated({ files: FILES.slice(1) }),
      stated({ files: [sampleFile('main.sh', 'echo 2'), ...FILES.slice(1)] }),
      stated({ files: [sampleFile('main.sh', 'echo 1', true), ...FILES.slice(1)] }),
      stated({ files: [sampleFile('other.sh', 'echo 1'), ...FILES.slice(1)] }),
      stated({ files: [...FILES, sampleFile('content.md', 'x')] }),
      stated({ executors: ['b'] }),
      stated({ by: 'agent' }),
      stated({ created: 'u' }),
    ]
    expect(new Set(statements).size).toBe(statements.length)
  })

  test('SIG-04: a manifest cannot name a file out of it', () => {
    const evil = [sampleFile('main.sh', 'echo evil'), ...FILES.slice(1)]
    for (const raw of [{ _file: 'main.sh' }, { name: 'content.md' }]) {
      expect(stated({ raw })).not.toBe(stated({ raw, files: evil }))
    }
    const bodies = ['x', 'y'].map((text) => stated({ files: [sampleFile('content.md', text)] }))
    expect(bodies[0]).not.toBe(bodies[1])
  })

  test('SIG-04: a file that repeats the manifest, and the content of a knowledge folder, are in it', () => {
    const added = [...FILES, sampleFile('main.aa', 'text: 1\n')]
    expect(stated({ files: added })).not.toBe(stated({}))
    const raw = { tool_type: 'knowledge', executor: null }
    for (const form of ['folder', 'row'] as const) {
      const [one, other] = ['x', 'y'].map((body) =>
        stated({ raw, files: [sampleFile('content.md', body)], more: { form } }),
      )
      expect(one).not.toBe(other)
    }
  })

  test('SIG-04: the body of a document is in its text, in a file and in the registry', () => {
    const raw = { tool_type: 'knowledge', executor: null }
    const text = '---\nid: a\n---\nbody\n'
    const files = [sampleFile('content.md', 'body\n')]
    const [document, row] = (['document', 'row'] as const).map((form) =>
      stated({ raw, text, files, more: { form } }),
    )
    expect(row).toBe(document)
    expect(JSON.parse(document ?? '')).toMatchObject({ files: [] })
  })

  test('SIG-04: a line that was put beside those of the signer is in it', () => {
    const lines = ['validated', 'signed'].map(
      (kind) =>
        `# kiwi-mcp:${kind}:2026-01-28T12:34:56Z:${'0'.repeat(64)}${kind === 'signed' ? `:${'A'.repeat(86)}:${'0'.repeat(16)}` : ''}\n`,
    )
    expect(stated({ text: `${lines.join('')}text: 1\n` })).toBe(stated({}))
    expect(stated({ text: `${lines.join('')}# rye:unsigned\ntext: 1\n` })).not.toBe(stated({}))
  })

  test('the place is not in it, nor the order of files, nor lines that are there already', () => {
    const more = { space: 'user', path: '/elsewhere/tool.yaml', form: 'row' } as const
    expect(stated({ more })).toBe(stated({}))
    expect(stated({ files: FILES.toReversed() })).toBe(stated({}))
    const line = `# kiwi-mcp:validated:2026-01-28T12:34:56Z:${'0'.repeat(64)}`
    expect(stated({ text: withSignature('text: 1\n', [line], 'tool.yaml') })).toBe(stated({}))
  })

  test('a script that is its own manifest is in it once, without its lines', () => {
    const script = (text: string): string =>
      stated({ raw: { _file: 'a.sh' }, text: null, files: [sampleFile('a.sh', text)] })
    const line = `# kiwi-mcp:validated:2026-01-28T12:34:56Z:${'0'.repeat(64)}\n`
    expect(script(`${line}echo 1\n`)).toBe(script('echo 1\n'))
    expect(script('echo 1\n')).not.toBe(script('echo 2\n'))
    expect(JSON.parse(script('echo 1\n'))).toMatchObject({ files: [] })
  })

  test('property: two lists of files have one statement only if they are the same', () => {
    const file = fc.record({
      path: fc.constantFrom('a', 'b', 'c/d'),
      text: fc.string({ maxLength: 3 }),
      isExecutable: fc.boolean(),
    })
    const files = fc.uniqueArray(file, { selector: ({ path }) => path })
    const listed = (given: readonly { path: string; text: string; isExecutable: boolean }[]): ItemFile[] =>
      given.map(({ path, text, isExecutable }) => sampleFile(path, text, isExecutable))
    const key = (given: readonly { path: string }[]): string =>
      JSON.stringify(given.toSorted((a, b) => (a.path < b.path ? -1 : 1)))
    fc.assert(
      fc.property(files, files, (one, other) => {
        const isEqual = stated({ files: listed(one) }) === stated({ files: listed(other) })
        expect(isEqual).toBe(key(one) === key(other))
      }),
    )
  })
})
