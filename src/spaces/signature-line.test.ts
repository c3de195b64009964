import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sha256 } from '../shared/json.ts'
import type { SignatureSubject } from './signature-candidates.ts'
import {
  commentStyle,
  readSignature,
  stripSignatures,
  textBelowSignature,
  unsignedText,
  withSignature,
} from './signature-line.ts'

const TIME = '2026-01-28T12:34:56Z'
const SIGNATURE = 'A'.repeat(86)
const FINGER = '0123456789abcdef'
const tool: SignatureSubject = { itemType: 'tool', raw: {}, fileName: 'a.py' }
const directive: SignatureSubject = { itemType: 'directive', raw: {}, fileName: 'a.md' }
const knowledge: SignatureSubject = { itemType: 'knowledge', raw: {}, fileName: 'a.md' }

const validated = (hashed: string, digits = 64): string =>
  `kiwi-mcp:validated:${TIME}:${sha256(hashed).slice(0, digits)}`

describe('the lines of each generation', () => {
  test('L4: the hash is over the file without the line', () => {
    const body = 'print(1)\n'
    const text = withSignature(body, [`# ${validated(body)}`], 'a.py')
    expect(text).toBe(`# ${validated(body)}\n${body}`)
    expect(readSignature(text, tool)).toMatchObject({ state: 'validated', generation: 'kiwi', time: TIME })
  })

  test('L4: one flipped byte is seen', () => {
    const text = `# ${validated('print(1)\n')}\nprint(2)\n`
    expect(readSignature(text, tool)).toMatchObject({ state: 'unverified', generation: null })
  })

  test('R22: after a shebang the line is the second, and the shebang is hashed too', () => {
    const body = '#!/usr/bin/env python3\nprint(1)\n'
    const text = withSignature(body, [`# ${validated(body)}`], 'a.py')
    expect(text.split('\n')[1]).toBe(`# ${validated(body)}`)
    expect(readSignature(text, tool).state).toBe('validated')
    expect(readSignature(text.replace('python3', 'python2'), tool).state).toBe('unverified')
    expect(stripSignatures(text, 'a.py')).toBe(body)
  })

  test('both lines of ours are read, and the key signature with them', () => {
    const body = 'a: 1\n'
    const signed = `kiwi-mcp:signed:${TIME}:${sha256(body)}:${SIGNATURE}:${FINGER}`
    const text = withSignature(body, [`# ${validated(body)}`, `# ${signed}`], 'a.py')
    expect(readSignature(text, tool)).toMatchObject({
      state: 'validated',
      key: { family: 'kiwi-mcp', time: TIME, signature: SIGNATURE, fingerprint: FINGER },
    })
    expect(stripSignatures(text, 'a.py')).toBe(body)
  })

  test('seed 002: all lines after the first, and a time with fractions', () => {
    const body = 'x = 1\n'
    const line = `# kiwi-mcp:validated:2026-01-28T12:34:56.123456Z:${sha256(`\n${body}`)}`
    expect(readSignature(`${line}\n\n${body}`, tool).state).toBe('validated')
  })

  test('12 digits: a tool without its shebang, a directive by its XML, knowledge by its text', () => {
    const code = 'print(1)\n'
    expect(readSignature(`#!/bin/x\n# ${validated(code, 12)}\n${code}`, tool).generation).toBe('kiwi-short')
    const xml = '<directive name="d" version="1.0.0">\n</directive>'
    const text = `<!-- ${validated(xml, 12)} -->\n# D\n\n\`\`\`xml\n${xml}\n\`\`\`\n`
    expect(readSignature(text, directive).generation).toBe('kiwi-short')
    const front = `<!-- ${validated('Text.', 12)} -->\n---\nid: k\n---\nText.\n`
    expect(readSignature(front, knowledge).generation).toBe('kiwi-short')
  })

  test('from 24 Jan a directive by canonical JSON, with what is not ASCII written out', () => {
    const xml = '<directive version="1.2.0" name="grüße">\n<process/></directive>'
    const form = `{"directive_name":"gr\\u00fc\\u00dfe","metadata":{},"version":"1.2.0","xml_hash":"${sha256(xml)}"}`
    const text = `<!-- ${validated(form)} -->\nprose\n${xml}\n`
    expect(readSignature(text, directive).generation).toBe('kiwi-json')
    expect(readSignature(text.replace('<process/>', ''), directive).state).toBe('unverified')
  })

  test.each(['zettel_id', 'id'])('from 26 Jan knowledge by canonical JSON, named by %s', (name) => {
    const raw = {
      tool_id: '001-x',
      version: '1.0.0',
      category: 'p/a',
      tags: ['t'],
      config: { entry_type: 'pattern' },
    }
    const meta = '"metadata":{"category":"p/a","entry_type":"pattern","tags":["t"]},"version":"1.0.0"'
    const hash = `"content_hash":"${sha256('Text.')}"`
    const form = name === 'id' ? `{${hash},"id":"001-x",${meta}}` : `{${hash},${meta},"zettel_id":"001-x"}`
    const text = `<!-- ${validated(form)} -->\n---\nid: 001-x\n---\nText.\n`
    expect(readSignature(text, { ...knowledge, raw })).toMatchObject({ generation: 'kiwi-json' })
  })

  test('knowledge that kept its hash in the front matter; the keys go when it is signed', () => {
    const hash = sha256('Text.').slice(0, 12)
    const text = `---\nid: k\nvalidated_at: ${TIME}\ncontent_hash: "${hash}"\n---\n\nText.\n`
    expect(readSignature(text, knowledge)).toMatchObject({
      state: 'validated',
      generation: 'front-matter',
      time: TIME,
    })
    expect(readSignature(text.replace('Text', 'Test'), knowledge).state).toBe('unverified')
    expect(unsignedText(text, 'a.md')).toBe('---\nid: k\n---\n\nText.\n')
    expect(unsignedText('---\nid: k\n---\nText.\n', 'a.md')).toBe('---\nid: k\n---\nText.\n')
  })

  test('rye and ryeos, and their keys give no more than information', () => {
    const code = 'print(1)\n'
    const rye = `# rye:signed:${TIME}:${sha256(code)}:${SIGNATURE}:${FINGER}|github@me`
    expect(readSignature(`#!/bin/x\n${rye}\n${code}`, tool)).toMatchObject({
      generation: 'rye',
      key: { family: 'rye' },
    })
    const late = `# ryeos:signed:${TIME}:${sha256(code)}:${'A'.repeat(86)}==:${sha256('key')}`
    expect(readSignature(`${late}\n${code}`, tool).generation).toBe('ryeos')
    const march = `# ryeos:signed:${TIME}:${sha256(code)}:${SIGNATURE}:${FINGER}`
    expect(readSignature(`${march}\n${code}`, tool).generation).toBe('ryeos')
    expect(readSignature(`${march}\n${code}#`, tool).state).toBe('unverified')
  })

  test.each([
    '# kiwi-mcp:validated:2026-01-28T12:34:56Z:placeholder',
    '# rye:signed:2026-01-28T12:34:56Z:placeholder:placeholder:placeholder',
    '# rye:unsigned',
  ])('a place kept for a hash is no signature: %s', (line) => {
    expect(readSignature(`${line}\nx\n`, tool)).toMatchObject({ state: 'unsigned', time: null, findings: [] })
    expect(stripSignatures(`${line}\nx\n`, 'a.py')).toBe('x\n')
  })

  test('the hash of a tool of late January is over what nobody can compute again: unverified', () => {
    expect(readSignature(`# ${validated('{"manifest":{}}')}\nx\n`, tool).state).toBe('unverified')
  })

  test('without a line a file is unsigned', () => {
    expect(readSignature('print(1)\n', tool)).toEqual({
      state: 'unsigned',
      generation: null,
      time: null,
      hash: null,
      key: null,
      findings: [],
    })
  })
})

describe('what is not a signature line', () => {
  const rest = 'print(1)\n'
  test.each([
    `import os; os.system("id") # ${validated(rest)}`,
    `# ${validated(rest)} ; rm -rf /`,
    `# ${validated(rest)}\rimport os`,
    `// ${validated(rest)}\u2028evil()`,
    `<!-- ${validated(rest)} --> <script>`,
    `#!/bin/sh # ${validated(rest)}`,
  ])('SIG-01: text on the line is a finding, and the file is not verified: %j', (line) => {
    const text = `${line}\n${rest}`
    expect(readSignature(text, tool)).toMatchObject({
      state: 'unverified',
      findings: ['text_on_signature_line'],
    })
    expect(stripSignatures(text, 'a.py')).toBe(text)
  })

  test('signing such a file leaves the line as content, and is valid', () => {
    const text = `x() # ${validated(rest)}\n${rest}`
    const signed = withSignature(text, [`# ${validated(text)}`], 'a.py')
    expect(readSignature(signed, tool)).toMatchObject({ state: 'validated', findings: [] })
    expect(readSignature(signed.replace('x()', 'y()'), tool).state).toBe('unverified')
  })

  test('a hash over nothing holds for no file', () => {
    const line = `<!-- rye:signed:${TIME}:${sha256('')}:${SIGNATURE}:${FINGER} -->`
    expect(readSignature(`${line}\nno directive at all\n`, directive).state).toBe('unverified')
    expect(readSignature(`<!-- ${validated('', 12)} -->\nno directive\n`, directive).state).toBe('unverified')
  })

  test('only knowledge kept a hash in its front matter', () => {
    const text = `---\nvalidated_at: ${TIME}\ncontent_hash: ${sha256('x')}\n---\nx`
    expect(readSignature(text, directive).state).toBe('unsigned')
    expect(readSignature(text, knowledge).state).toBe('validated')
  })

  test('a line further down is content', () => {
    const text = `x\n# ${validated('x\n')}\n`
    expect(readSignature(text, tool).state).toBe('unsigned')
    expect(stripSignatures(text, 'a.py')).toBe(text)
  })
})

describe('lines that speak for a file', () => {
  const body = 'print(1)\n'
  const signed = `kiwi-mcp:signed:${TIME}:${sha256(body)}:${SIGNATURE}:${FINGER}`
  const ours = [`# ${validated(body)}`, `# ${signed}`]
  const stateOf = (lines: readonly string[], fileName = 'a.py'): string =>
    readSignature(`${lines.join('\n')}\n${body}`, { ...tool, fileName }).state

  test.each([
    ['below', [...ours, '# rye:unsigned']],
    ['between', [ours[0] ?? '', '# rye:unsigned', ours[1] ?? '']],
    ['above', ['# rye:unsigned', ...ours]],
    ['of ours again', [...ours, ...ours]],
    ['of ours twice', [ours[0] ?? '', ours[0] ?? '']],
  ])('SIG-04: another line %s is seen', (_, lines) => {
    expect(stateOf(ours)).toBe('validated')
    expect(stateOf(lines)).toBe('unverified')
    const text = `${lines.join('\n')}\n${body}`
    expect(textBelowSignature(text, 'a.py')).not.toBe(body)
    expect(withSignature(text, ours, 'a.py')).toBe(`${ours.join('\n')}\n${body}`)
  })

  test.each([
    ['a.sh', '// ', ''],
    ['a.sh', '<!-- ', ' -->'],
    ['a.md', '# ', ''],
    ['a.ts', '# ', ''],
    ['a.json', '# ', ''],
  ])('SIG-01: in %s a line in the comment %j is none', (fileName, open, close) => {
    const text = `${open}${validated(body)}${close}\n${body}`
    expect(readSignature(text, { ...tool, fileName }).state).toBe('unverified')
    expect(stripSignatures(text, fileName)).toBe(text)
  })

  test('R22: a .js file may carry the line of an old fault', () => {
    expect(stateOf([`# ${validated(body)}`], 'a.js')).toBe('validated')
  })
})

describe('writing', () => {
  test('every family goes, in any comment that the file may carry it in', () => {
    const text = `// ${validated('a')}\n# rye:unsigned\n// ${validated('b')}\nlet a\n`
    expect(withSignature(text, ['// new'], 'a.js')).toBe('// new\nlet a\n')
  })

  test('a BOM and the ends of lines are kept', () => {
    expect(withSignature('\uFEFF#!/bin/x\r\na\r\n', ['# l'], 'a.sh')).toBe('\uFEFF#!/bin/x\r\n# l\r\na\r\n')
    expect(withSignature('#!/bin/x', ['# l'], 'a.sh')).toBe('#!/bin/x\n# l\n')
  })

  test.each([
    ['a.py', '# x'],
    ['tool.yaml', '# x'],
    ['a.mjs', '// x'],
    ['a.ts', '// x'],
    ['a.md', '<!-- x -->'],
    ['a.json', undefined],
  ])('the comment of %s', (name, line) => {
    expect(commentStyle(name)?.('x')).toBe(line)
  })

  const texts = fc.tuple(
    fc.constantFrom('', '\uFEFF', '#!/bin/x', '#!/bin/x\n', '\uFEFF#!/bin/x\r\n'),
    fc.string({ unit: 'grapheme' }),
  )
  test('L4: what is signed reads as valid, strips to what was signed, and signing again changes nothing', () => {
    fc.assert(
      fc.property(texts, fc.constantFrom('a.py', 'a.js', 'a.md'), (parts, name) => {
        const body = parts.join('')
        const line = commentStyle(name)?.(validated(unsignedText(body, name))) ?? ''
        const once = withSignature(body, [line], 'a.py')
        expect(readSignature(once, { ...tool, fileName: name }).state).toBe('validated')
        expect(stripSignatures(once, name)).toBe(unsignedText(body, name))
        expect(withSignature(once, [line], name)).toBe(once)
      }),
    )
  })
})
