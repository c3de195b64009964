import { describe, expect, test } from 'vitest'
import type { Change } from './change-item.ts'
import { changeWritten, isSameWritten, withVersion } from './change-item.ts'
import { readWritten } from './read-item.ts'
import type { WrittenItem } from './written-item.ts'
import { textFile, textIn, writtenOf } from './written-item.ts'

const SCRIPT: WrittenItem = {
  place: 'tools',
  kind: 'script',
  manifest: textFile('x.py', '"""Counts."""\n__version__ = "1.0.0"\n__tool_type__ = "python"\nprint(1)\n'),
  files: [],
}
const TOML: WrittenItem = {
  place: 'tools',
  kind: 'manifest',
  manifest: textFile(
    'x.toml',
    'tool_type = "api"\nversion = "1.0.0" # ours\n[config]\nurl = "https://example.com/"\n',
  ),
  files: [],
}
const SKILL: WrittenItem = {
  place: 'directives',
  kind: 'folder',
  manifest: textFile('SKILL.md', '---\nname: x\ndescription: d\n---\nDo it\n'),
  files: [textFile('references/a.md', 'a')],
}
const XML: WrittenItem = {
  place: 'directives',
  kind: 'document',
  manifest: textFile(
    'x.md',
    '<directive name="x" version="1.0.0"><description>d</description></directive>\n',
  ),
  files: [],
}

async function change(written: WrittenItem, wanted: Change): Promise<WrittenItem> {
  const item = await readWritten(written, { stem: 'x', category: null }, 'project')
  return changeWritten(item, written, wanted)
}

describe('S8: what a change makes of an item', () => {
  test('a source: keys its header holds, or all of it; what it leaves out of the header is still so', async () => {
    const keyed = await change(SCRIPT, { manifest: { category: 'text', description: 'Counts all' } })
    expect(textIn(keyed.manifest)).toBe(
      '"""Counts."""\n__tool_description__ = "Counts all"\n__category__ = "text"\n__version__ = "1.0.0"\n__tool_type__ = "python"\nprint(1)\n',
    )
    const whole = await change(SCRIPT, { content: '"""Adds."""\nprint(2)\n' })
    expect(textIn(whole.manifest)).toBe(
      '"""Adds."""\n__version__ = "1.0.0"\n__tool_type__ = "python"\nprint(2)\n',
    )
    const named = await change(SCRIPT, { files: new Map([['x.py', textFile('x.py', 'print(3)\n')]]) })
    expect(textIn(named.manifest)).toContain('print(3)')
  })

  test('a skill: its document, and the files beside it', async () => {
    const files = new Map([
      ['references/a.md', null],
      ['scripts/b.sh', textFile('scripts/b.sh', 'b')],
    ])
    const changed = await change(SKILL, { manifest: { description: 'e' }, files })
    expect(textIn(changed.manifest)).toBe('---\nname: x\ndescription: e\n---\nDo it\n')
    expect(changed.files.map(({ path }) => path)).toEqual(['scripts/b.sh'])
  })

  test.each<[string, WrittenItem, Change, string]>([
    ['a key no header has', SCRIPT, { manifest: { tags: ['a'] } }, 'stands in its source'],
    ['a manifest for a source', SCRIPT, { manifest: 'a: 1\n' }, 'stands in its source'],
    [
      'a second file for a source',
      SCRIPT,
      { files: new Map([['a', textFile('a', '')]]) },
      'single file "x.py"',
    ],
    ['keys for TOML', TOML, { manifest: { tags: ['a'] } }, 'TOML'],
    ['keys for a directive in XML', XML, { manifest: { tags: ['a'] } }, 'stands in its document'],
  ])('%s is refused, and the reason says what would do', async (_, written, wanted, reason) => {
    await expect(change(written, wanted)).rejects.toMatchObject({
      code: 'INVALID_PARAMETERS',
      message: expect.stringContaining(reason),
    })
  })

  test.each([
    ['script', SCRIPT, '__version__ = "1.2.0"'],
    ['TOML', TOML, 'version = "1.2.0" # ours'],
    ['skill', SKILL, 'description: d\nversion: 1.2.0'],
    ['XML', XML, '<directive name="x" version="1.2.0">'],
  ])('%s: another version is all that differs, and is read back', async (_, written, wanted) => {
    const raised = await withVersion(written, '1.2.0')
    expect(textIn(raised.manifest)).toContain(wanted)
    expect(isSameWritten(raised, written)).toBe(false)
    const item = await readWritten(raised, { stem: 'x', category: null }, 'project')
    expect(item).toMatchObject({ id: 'x', manifest: { version: '1.2.0' } })
  })

  test('S5: what went through the registry comes out to the byte, in the form it had', async () => {
    for (const written of [SCRIPT, TOML, SKILL, XML]) {
      const item = await readWritten(written, { stem: 'x', category: null }, 'registry')
      expect(await writtenOf({ ...item, form: 'row' })).toEqual({
        ...written,
        manifest: { ...written.manifest, content: Buffer.from(written.manifest.content) },
      })
    }
  })
})
