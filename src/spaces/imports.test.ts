import { describe, expect, test } from 'vitest'
import { BUILTIN } from '../../test/fixtures/sample-item.ts'
import { openPackageTable } from './imports.ts'

const table = openPackageTable(BUILTIN)
const python = (source: string, ...local: string[]): Promise<readonly string[]> =>
  table.importsOf('python', source, new Set(local))
const node = (source: string, ...local: string[]): Promise<readonly string[]> =>
  table.importsOf('node', source, new Set(local))

describe('L7: imports of Python give packages', () => {
  test.each<readonly [string, string, readonly string[]]>([
    ['one', 'import requests', ['requests']],
    ['another name than the module', 'from bs4 import BeautifulSoup', ['beautifulsoup4']],
    ['the standard library', 'from datetime import datetime\nimport os.path, tomllib', []],
    ['several at once', 'import os, yaml as y, httpx.client', ['PyYAML', 'httpx']],
    [
      'over several lines',
      'from PIL import (\n  Image,  # why\n  ImageDraw,\n)\nimport cv2, \\\n  git',
      ['Pillow', 'opencv-python', 'GitPython'],
    ],
    ['after a semicolon', 'x = 1; import requests', ['requests']],
    ['on the line of a condition', 'if True: import requests', ['requests']],
    ['inside a function', 'def f():\n    from sklearn.svm import SVC\n', ['scikit-learn']],
    ['relative ones', 'from . import a\nfrom .b import c\nfrom ..d.e import f', []],
    ['private ones', 'import _thread, __future__, _typeshed', []],
    ['libraries of the space', 'from lib.http import get\nimport lib', []],
    [
      'one of a namespace',
      'from google.cloud import storage\nimport google.oauth2.credentials',
      ['google-cloud-storage', 'google-auth'],
    ],
    ['twice', 'import httpx\nfrom httpx import get', ['httpx']],
    ['in a text', '"""\nimport a\n"""\nx = "import b"\n\'\'\'from c import d\'\'\'', []],
    ['in a comment', '# import a\nx = 1  # from b import c', []],
    ['behind a text that is never closed', 'x = "open\nimport requests', ['requests']],
    [
      'that it can do without',
      'try:\n    import orjson\nexcept ImportError:\n    import simplejson as orjson',
      [],
    ],
    [
      'that it can do without, however it is caught',
      'try:\n  import a\nexcept (ValueError, ModuleNotFoundError):\n  a = None',
      [],
    ],
    ['that is needed all the same', 'try:\n    import requests\nexcept ValueError:\n    pass', ['requests']],
    [
      'after what can be missing',
      'try:\n    import a\nexcept:\n    pass\nelse:\n    import b\nimport c',
      ['b', 'c'],
    ],
    [
      'in a try inside another',
      'try:\n  try:\n    import a\n  finally:\n    pass\nexcept ImportError:\n  pass',
      [],
    ],
    [
      'for types only',
      'from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import a\nelse:\n    import b',
      ['b'],
    ],
    [
      'for types only, under another name',
      'import typing as t\nif t.TYPE_CHECKING: import a\nimport b',
      ['b'],
    ],
    ['with line ends of Windows', 'import requests\r\nfrom bs4 import a\r\n', ['requests', 'beautifulsoup4']],
  ])('%s', async (_, source, packages) => {
    expect(await python(source)).toEqual(packages)
  })

  test('a file beside it is no package', async () => {
    expect(await python('import helper\nfrom parts.a import b\nimport httpx', 'helper', 'parts')).toEqual([
      'httpx',
    ])
  })
})

describe('L7: imports of JavaScript give packages', () => {
  test.each<readonly [string, string, readonly string[]]>([
    [
      'in every form',
      `import a from 'a'\nimport 'b'\nimport * as c from "c"\nexport { d } from 'd'\nconst e = require('e')\nawait import('f')`,
      ['a', 'b', 'c', 'd', 'e', 'f'],
    ],
    ['over several lines', `import {\n  x,\n  y,\n} from 'lodash'`, ['lodash']],
    [
      'below a package',
      `import x from 'lodash/fp'\nimport y from '@scope/name/deep'`,
      ['lodash', '@scope/name'],
    ],
    ['of Node itself', `import fs from 'fs'\nimport 'node:path'\nrequire('fs/promises')`, []],
    [
      'beside it, or of another kind',
      `import './a.js'\nimport '../b'\nimport '/c'\nimport '#d'\nimport 'https://x.test/e.js'\nimport 'npm:f@1'`,
      [],
    ],
    ['that is computed', 'import(name)\nrequire(`a${b}`)\nrequire.resolve("c")\nx.require("d")', []],
    [
      'in texts, comments and patterns',
      '// import "a"\n/* require("b") */\nconst x = "import \'c\'"\nconst y = /import "d"/\n`import "e"`',
      [],
    ],
    [
      'of types',
      `import type { A } from 'a'\nimport type B from 'b'\nexport type { C } from 'c'\nimport { type D } from 'd'\nimport type from 'e'`,
      ['d', 'e'],
    ],
  ])('%s', async (_, source, packages) => {
    expect(await node(source)).toEqual(packages)
  })

  test('a name that is local is no package', async () => {
    expect(await node(`import 'helper'\nimport 'axios'`, 'helper')).toEqual(['axios'])
  })
})

test('PAR-02, L7: a source that repeats itself without end is read in linear time', async () => {
  for (const part of [
    'import ',
    'import a.',
    'from "',
    'try:\n',
    '"""',
    '`',
    '/',
    '(',
    'import type from ',
  ]) {
    const source = part.repeat(200_000 / part.length)
    await Promise.all([python(source), node(source)])
  }
})
