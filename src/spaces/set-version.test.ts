import { describe, expect, test } from 'vitest'
import { setHeader } from './script-header.ts'
import { setVersion } from './set-version.ts'

describe('T10: a version is written where the file says its own', () => {
  test.each([
    ['x.yaml', "# a\nversion: '1.0.0' # b\nc: 1\n", "# a\nversion: '2.0.0' # b\nc: 1\n"],
    ['x.yaml', 'tool_id: x\n', 'tool_id: x\nversion: 2.0.0\n'],
    ['x.json', '{\n  "version": "1.0.0",\n  "a": 1\n}\n', '{\n  "version": "2.0.0",\n  "a": 1\n}\n'],
    [
      'x.toml',
      'a = 1\nversion = "1.0.0" # b\n[c]\nversion = "9"\n',
      'a = 1\nversion = "2.0.0" # b\n[c]\nversion = "9"\n',
    ],
    ['x.toml', '[c]\nversion = "9"\n', 'version = "2.0.0"\n[c]\nversion = "9"\n'],
    [
      'x.py',
      '"""D."""\n__version__ = "1.0.0"  # b\nx = 1\n',
      '"""D."""\n__version__ = "2.0.0"  # b\nx = 1\n',
    ],
    ['x.py', "__version__: str = '1.0.0'\n", "__version__: str = '2.0.0'\n"],
    ['x.py', 'print(1)', '__version__ = "2.0.0"\nprint(1)'],
    [
      'x.py',
      '#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\n"""D.\n\n__version__ = "0"\n"""\nfrom __future__ import (\n  annotations,\n)\nimport os\n__version__ = "1.0.0"\n',
      '#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\n"""D.\n\n__version__ = "0"\n"""\nfrom __future__ import (\n  annotations,\n)\nimport os\n__version__ = "2.0.0"\n',
    ],
    [
      'x.py',
      '"""D."""\n\nfrom __future__ import annotations\nimport os\n',
      '"""D."""\n\nfrom __future__ import annotations\n__version__ = "2.0.0"\nimport os\n',
    ],
    ['x.py', 'import os\r\n', '__version__ = "2.0.0"\r\nimport os\r\n'],
    [
      'x.sh',
      '#!/bin/sh\n# Greets\n# version: 1.0.0\necho\n',
      '#!/bin/sh\n# Greets\n# version: 2.0.0\necho\n',
    ],
    ['x.sh', '#!/bin/sh\n# __version__ = "1.0.0"\n', '#!/bin/sh\n# __version__ = "2.0.0"\n'],
    ['x.sh', '#!/bin/sh\necho', '#!/bin/sh\n# version: 2.0.0\necho'],
    ['x.sh', '#!/bin/sh', '#!/bin/sh\n# version: 2.0.0\n'],
    ['x.mjs', "export const __version__ = '1.0.0'\n", "export const __version__ = '2.0.0'\n"],
    ['x.js', '/**\n * Greets\n * @version 1.0.0\n */\n', '/**\n * Greets\n * @version 2.0.0\n */\n'],
    ['x.js', "/* a */\n'use strict'\nf()\n", '/* a */\n\'use strict\'\nconst __version__ = "2.0.0"\nf()\n'],
    ['x.ts', '#!/usr/bin/env node\nf()\n', '#!/usr/bin/env node\nconst __version__ = "2.0.0"\nf()\n'],
    [
      'x.md',
      '---\nid: a # b\nversion: 1.0.0\n---\nversion: 1\n',
      '---\nid: a # b\nversion: 2.0.0\n---\nversion: 1\n',
    ],
    ['x.md', '---\n---\nText', '---\nversion: 2.0.0\n---\nText'],
    ['x.md', '# Text\n', '---\nversion: 2.0.0\n---\n# Text\n'],
    ['x.md', '```yaml\nid: a\n```\nText', '```yaml\nid: a\nversion: 2.0.0\n```\nText'],
    [
      'x.md',
      '# T\n```xml\n<directive name="a" version="1.0.0">\n<x version="1"/>\n</directive>\n```\n',
      '# T\n```xml\n<directive name="a" version="2.0.0">\n<x version="1"/>\n</directive>\n```\n',
    ],
    ['x.md', '<directive name="a>b">\n', '<directive name="a>b" version="2.0.0">\n'],
  ])('%s: %j', async (name, text, wanted) => {
    const edited = await setVersion(name, text, '2.0.0')
    expect(edited).toBe(wanted)
    expect(await setVersion(name, edited, '2.0.0')).toBe(wanted)
  })

  test('a long head takes no longer than it is long', async () => {
    const head = '# \n'.repeat(80_000)
    for (const name of ['x.py', 'x.sh', 'x.js', 'x.md', 'x.toml']) {
      expect((await setVersion(name, `${head}"""${' \\'.repeat(20_000)}`, '2.0.0')).length).toBeGreaterThan(
        1000,
      )
    }
  })
})

test('T13: a source says in its header what it is', () => {
  const fields = {
    version: '1.0.0',
    tool_type: 'python',
    executor: 'python_runtime',
    category: 'text',
    description: 'Counts "words"\nof a text',
  }
  expect(setHeader('x.py', '#!/usr/bin/env python3\nimport sys\n', fields)).toBe(
    '#!/usr/bin/env python3\n__tool_description__ = "Counts \\"words\\"\\nof a text"\n__version__ = "1.0.0"\n' +
      '__tool_type__ = "python"\n__executor_id__ = "python_runtime"\n__category__ = "text"\nimport sys\n',
  )
  expect(setHeader('x.sh', 'echo\n', { description: 'Says\nnothing', version: '1.0.0' })).toBe(
    '# Says nothing\n#\n# version: 1.0.0\necho\n',
  )
  expect(setHeader('x.mjs', 'f()\n', { description: 'Ends */ here', version: '1.0.0' })).toBe(
    '/** Ends * / here */\nconst __version__ = "1.0.0"\nf()\n',
  )
  expect(setHeader('x.rb', 'f()\n', fields)).toBeNull()
})
