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

describe('SIG-01, T11: signature lines are no part of the content', () => {
  const line = `kiwi-mcp:validated:2026-01-28T12:34:56Z:${'a'.repeat(64)}`
  const hash = (content: string | Uint8Array, name = 'a.py'): string =>
    contentHash({ _file: 'a.py' }, [{ path: name, content: Buffer.from(content), isExecutable: false }])

  test.each([
    ['at the top', '', 'x = 1\n'],
    ['below a shebang', '#!/usr/bin/env python3\n', 'x = 1\n'],
    ['below a BOM and a shebang', '\uFEFF#!/bin/sh\r\n', 'x\r\n'],
    ['of a file that is large', '', 'x = "é"\n'.repeat(10_000)],
    ['of an empty file', '', ''],
  ])('%s', (_, head, rest) => {
    const bare = hash(head + rest)
    const end = head.endsWith('\r\n') ? '\r\n' : '\n'
    expect(hash(`${head}# ${line}${end}${rest}`)).toBe(bare)
    expect(hash(`${head}# ${line}${end}# ${line}${end}${rest}`)).toBe(bare)
  })

  test.each([
    ['with code on it', `# ${line}; import os\n`],
    ['with code before it', `import os # ${line}\n`],
    ['with a hash that is too short', '# kiwi-mcp:validated:2026-01-28T12:34:56Z:abc\n'],
    ['further down', `y = 2\n# ${line}\n`],
  ])('but a line %s is', (_, text) => {
    expect(hash(`${text}x = 1\n`)).not.toBe(hash('x = 1\n'))
    expect(hash(`${text}x = 1\n`)).not.toBe(hash(`${text.slice(0, -1)} \nx = 1\n`))
  })

  test('nor is one that only its first bytes would make one', () => {
    const filler = `# ${line}\n`
    const lines = filler.repeat(Math.floor((16 * 1024 - 10) / filler.length))
    const rest = 16 * 1024 - lines.length
    const cut = `# ${line}`.padEnd(rest, ' ')
    expect(hash(`${lines}${cut}import os\n`)).not.toBe(hash(`${lines}${cut}import sys\n`))
  })

  test('and the lines of another file of the item are its content', () => {
    expect(hash(`# ${line}\nx`, 'b.py')).not.toBe(hash('x', 'b.py'))
  })

  test('bytes that are no text are hashed as they are', () => {
    expect(hash(Buffer.from([0xff, 0xfe, 10, 0x80]))).not.toBe(hash(Buffer.from([0xff, 0xfe, 10, 0x81])))
  })
})
