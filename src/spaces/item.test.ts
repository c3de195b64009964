import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../shared/json.ts'
import type { ItemFile } from '../store/store.ts'
import { contentHash, entrypointOf } from './item.ts'
import { readManifest } from './manifest.ts'
import { parseDocument } from './parse-document.ts'

const file = (path: string, text: string, isExecutable = false): ItemFile => ({
  path,
  content: Buffer.from(text),
  isExecutable,
})
const RAW: JsonObject = { tool_id: 'a', config: { b: 1, c: 2 } }
const FILES = [file('main.py', 'print(1)'), file('lib/a.py', 'x = 1')]

describe('T11: the content hash', () => {
  const before = contentHash(RAW, FILES)

  test('is the same for the same content, whatever the order of keys and files, and whatever the comments', async () => {
    const text = '# hello\nconfig: # here\n  c: 2\n  b: 1\n\ntool_id: "a"\n'
    expect(contentHash(await parseDocument(text, 'a'), FILES.toReversed())).toBe(before)
    expect(before).toMatch(/^[0-9a-f]{64}$/)
  })

  test.each([
    ['one byte of a file', RAW, [file('main.py', 'print(2)'), file('lib/a.py', 'x = 1')]],
    ['the mode of a file', RAW, [file('main.py', 'print(1)', true), file('lib/a.py', 'x = 1')]],
    ['the path of a file', RAW, [file('main.py', 'print(1)'), file('lib/b.py', 'x = 1')]],
    ['a file less', RAW, [file('main.py', 'print(1)')]],
    ['an empty file more', RAW, [...FILES, file('empty', '')]],
    ['two files that changed places', RAW, [file('lib/a.py', 'print(1)'), file('main.py', 'x = 1')]],
    ['a value of the manifest', { tool_id: 'a', config: { b: 1, c: 3 } }, FILES],
    ['the type of a value', { tool_id: 'a', config: { b: '1', c: 2 } }, FILES],
    ['a key of the manifest', { tool_id: 'a', config: { b: 1, d: 2 } }, FILES],
    ['an unknown key', { ...RAW, note: null }, FILES],
  ])('changes with %s', (_, raw, files) => {
    expect(contentHash(raw, files)).not.toBe(before)
  })

  test('tells where one file ends and the next begins', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.nat(), (a, b, cut) => {
        const text = `${a}${b}`
        const at = cut % (text.length + 1)
        const split = (n: number): string =>
          contentHash({}, [file('a', text.slice(0, n)), file('b', text.slice(n))])
        expect(split(at) === split(a.length)).toBe(
          at === a.length || Buffer.from(text.slice(0, at)).equals(Buffer.from(a)),
        )
      }),
    )
  })
})

describe('the file that is started', () => {
  const { manifest } = readManifest({ tool_id: 'a', tool_type: 'script' }, { stem: null, category: null })
  const named = readManifest(
    { tool_id: 'a', tool_type: 'script', config: { entrypoint: 'go.py' } },
    { stem: null, category: null },
  ).manifest

  test.each([
    [['main.py', 'lib/a.py'], 'main.py'],
    [['lib/main.py', 'main.mjs'], 'main.mjs'],
    [['run.sh'], 'run.sh'],
    [['a.py', 'b.py'], null],
    [['lib/main.py', 'x.py'], null],
    [[], null],
  ])('of %j is %s', (paths, expected) => {
    expect(entrypointOf(manifest, paths)).toBe(expected)
  })

  test('is the one the config names', () => {
    expect(entrypointOf(named, ['main.py', 'go.py'])).toBe('go.py')
  })
})
