import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { RequirementFormat } from './requirements.ts'
import {
  readRequirement,
  readRequirements,
  readRequirementFile,
  requirementText,
  showRequirement,
} from './requirements.ts'

const show = (text: string, format: RequirementFormat = 'lines'): string =>
  showRequirement(readRequirement(text, format, 'tool'))

describe('C10: a package is a name and a version', () => {
  test.each([
    ['httpx', 'httpx'],
    ['httpx>=0.24.0', 'httpx>=0.24.0'],
    ['  httpx >= 0.24 , < 1 ', 'httpx>= 0.24 , < 1'],
    ['uvicorn[standard]~=0.30', 'uvicorn[standard]~=0.30'],
    ['tomli>=2 ; python_version < "3.11"', 'tomli>=2 ; python_version < "3.11"'],
    [
      'six==1.16.0 --hash=sha256:00ff --hash=sha256:11ee',
      'six==1.16.0 --hash=sha256:00ff --hash=sha256:11ee',
    ],
    [`six==1.16.0${' --hash=sha256:00ff'.repeat(100)}`, `six==1.16.0${' --hash=sha256:00ff'.repeat(100)}`],
    ['six\t>=1 ;\tpython_version  <  "3"', 'six>=1 ; python_version < "3"'],
    ['Mojo::UserAgent', 'Mojo::UserAgent'],
    ['rails ~> 7.1', 'rails~> 7.1'],
  ])('%s', (text, shown) => {
    expect(show(text)).toBe(shown)
  })

  test.each([
    ['lodash', 'lodash'],
    ['axios@^1.6', 'axios@^1.6'],
    ['@scope/name@1.2.3', '@scope/name@1.2.3'],
    ['left-pad@>=1 <2 || 3.x', 'left-pad>=1 <2 || 3.x'],
    ['left-pad@1.0 - 2.0', 'left-pad@1.0 - 2.0'],
  ])('%s as an entry of a package.json', (text, shown) => {
    expect(show(text, 'object')).toBe(shown)
  })
})

describe('SUP-02: where a package comes from is not for a tool to say', () => {
  test.each([
    ['git+https://example.com/x.git', 'comes from git'],
    ['x @ git+ssh://git@example.com/x', 'comes from git'],
    ['https://example.com/x.tar.gz', 'comes from a file'],
    ['x @ https://example.com/x', 'comes from an address'],
    ['file:///tmp/x', 'comes from a file'],
    ['./x', 'comes from a file'],
    ['../x', 'comes from a file'],
    ['/tmp/x', 'comes from a file'],
    ['x-1.0-py3-none-any.whl', 'comes from a file'],
    ['C:\\x', 'comes from a file'],
    ['-e .', 'is an option'],
    ['--index-url https://evil.example', 'is an option'],
    ['-r other.txt', 'is an option'],
    ['httpx --index-url=https://evil.example', 'comes from an address'],
    ['httpx --pre', 'is not a name with a version'],
    ['httpx>=1 -i x', 'is not a name with a version'],
    ['httpx==1 --hash=sha256:00 --pre', 'is not a name with a version'],
    ['httpx; python_version<"3" --pre', 'is not a name with a version'],
    ['httpx==*', 'is not a name with a version'],
    ['requests 2', 'is not a name with a version'],
    ['requests>=1 2', 'is not a name with a version'],
    ["six ; python_version < '2'\n.", 'holds a control character'],
    ['six\u2028evil', 'holds a control character'],
    ['six\u0085evil', 'holds a control character'],
    [`six ; x == '${'x'.repeat(1000)}'`, 'is longer than 1,000 characters'],
    ['${EVIL}', 'is not a name with a version'],
    ['', 'is not a name with a version'],
  ])('%s', (text, reason) => {
    expect(() => show(text)).toThrowError(
      expect.objectContaining({ code: 'DEPENDENCY_REFUSED', message: expect.stringContaining(reason) }),
    )
  })

  test.each([
    ['x@npm:other@1.0.0', 'is another package under this name'],
    ['x@git+https://example.com/x.git', 'comes from git'],
    ['x@github:user/repo', 'comes from git'],
    ['x@https://example.com/x', 'comes from an address'],
    ['x@file:../x', 'comes from a file'],
    ['x@link:../x', 'comes from a file'],
    ['user/repo', 'is not a name with a version'],
    ['x@latest', 'is not a name with a version'],
    ['x@*', 'is not a name with a version'],
  ])('%s as an entry of a package.json', (text, reason) => {
    expect(() => show(text, 'object')).toThrowError(
      expect.objectContaining({ code: 'DEPENDENCY_REFUSED', message: expect.stringContaining(reason) }),
    )
  })

  /** Under expressions that try again from every blank each of these takes many minutes. */
  test.each([
    ['blanks in a marker', `a ;${' '.repeat(250_000)}:`],
    ['blanks before a hash', `a${' '.repeat(250_000)}--hash=x`],
    ['blanks in a version', `a >=1${' '.repeat(250_000)}|x`],
    ['hashes', `a==1${' --hash=sha256:00'.repeat(15_000)} x`],
    ['slashes', '/'.repeat(250_000)],
    ['brackets', `a${'['.repeat(250_000)}`],
    ['comments', `${' #'.repeat(125_000)}\u2028`],
  ])('however many %s there are, the answer is there at once', { timeout: 5000 }, (_what, text) => {
    const read = (format: RequirementFormat): unknown => readRequirementFile(text, format, 'tool')
    try {
      expect(read('lines')).toEqual([])
    } catch (error) {
      expect(error).toMatchObject({ code: 'DEPENDENCY_REFUSED' })
    }
    expect(() => readRequirement(text, 'object', 'tool')).toThrow('Cannot run "tool"')
  })

  test('a list that is too long is refused', () => {
    const many = (count: number): string => Array.from({ length: count }, (_, n) => `p${n}\n`).join('')
    expect(readRequirementFile(many(1000), 'lines', 'tool')).toHaveLength(1000)
    expect(() => readRequirementFile(many(1001), 'lines', 'tool')).toThrowError(
      expect.objectContaining({
        code: 'DEPENDENCY_REFUSED',
        message: 'Cannot run "tool": it requires 1,001 packages, more than 1,000',
      }),
    )
    expect(() => readRequirementFile('#'.repeat(262_145), 'lines', 'tool')).toThrowError(
      expect.objectContaining({ code: 'DEPENDENCY_REFUSED' }),
    )
  })

  test('the refusal names the package, without the password in its address', () => {
    expect(() => show('x @ https://ada:geheim@example.com/x')).toThrowError(
      expect.objectContaining({
        message: 'Cannot run "tool": the package "x @ https://***@example.com/x" comes from an address',
        details: { tool: 'tool', package: 'x @ https://***@example.com/x' },
      }),
    )
  })

  test('nothing that is let through holds an address, a path or an option', () => {
    const parts = fc.constantFrom(
      'x',
      ' ',
      '-',
      '--',
      ':',
      '/',
      '//',
      '@',
      '=',
      '1',
      '.',
      ';',
      '#',
      '[',
      ']',
      'git+',
      '"',
      '<',
    )
    const texts = fc.array(parts, { maxLength: 12 }).map((all) => all.join(''))
    fc.assert(
      fc.property(texts, fc.constantFrom<RequirementFormat>('lines', 'object'), (text, format) => {
        let shown: string
        try {
          shown = show(text, format)
        } catch {
          return
        }
        expect(shown).not.toMatch(/(?<!:):(?!:)|(?<!^@x*)\/|(?:^|\s)-(?!\s)|\\/)
      }),
      { numRuns: 3000 },
    )
  })
})

describe('C10: a file of the tool names packages', () => {
  test('a line each, without comments, with lines that go on', () => {
    const text = '# ours\r\nhttpx>=0.24  # client\r\n\r\nsix==1.16 \\\n  --hash=sha256:00ff\n'
    expect(readRequirementFile(text, 'lines', 'tool').map(showRequirement)).toEqual([
      'httpx>=0.24',
      'six==1.16 --hash=sha256:00ff',
    ])
  })

  test('the dependencies of a package.json, and nothing else of it', () => {
    const text = JSON.stringify({
      type: 'module',
      scripts: { postinstall: 'evil' },
      dependencies: { axios: '^1.6' },
      devDependencies: { vitest: 'file:x' },
    })
    const read = readRequirementFile(text, 'object', 'tool')
    expect(read).toEqual([{ name: 'axios', version: '^1.6' }])
    expect(JSON.parse(requirementText(read, 'object'))).toEqual({
      private: true,
      dependencies: { axios: '^1.6' },
    })
    expect(readRequirementFile('{"type":"module"}', 'object', 'tool')).toEqual([])
  })

  test.each(['', '[]', 'x', '{"dependencies":[]}', '{"dependencies":1}'])(
    '%s is not what npm reads',
    (text) => {
      expect(() => readRequirementFile(text, 'object', 'tool')).toThrowError(
        expect.objectContaining({ code: 'INVALID_CONFIG' }),
      )
    },
  )

  test('SUP-02: one that is refused refuses the file', () => {
    const text = JSON.stringify({ dependencies: { a: '1.0.0', b: '*' } })
    expect(() => readRequirementFile(text, 'object', 'tool')).toThrowError(
      expect.objectContaining({ code: 'DEPENDENCY_REFUSED', message: expect.stringContaining('"b@*"') }),
    )
  })
})

test('SUP-02: of several that are refused all are named', () => {
  expect(() => readRequirements(['httpx', 'git+https://x/y', './z'], 'lines', 'a')).toThrow(
    expect.objectContaining({
      code: 'DEPENDENCY_REFUSED',
      message:
        'Cannot run "a": the package "git+https://x/y" comes from git; the package "./z" comes from a file',
      details: expect.objectContaining({ packages: ['git+https://x/y', './z'] }),
    }),
  )
})
