import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../shared/json.ts'
import { readManifest } from '../manifest.ts'
import { readScript } from './script.ts'

const read = async (fileName: string, text: string): Promise<JsonObject> => {
  const stem = fileName.replace(/\.\w+$/, '')
  const { raw } = await readScript({ stem, fileName, path: `/p/${fileName}`, text })
  readManifest(raw, { stem, category: null })
  return raw
}
const warningsOf = async (fileName: string, text: string): Promise<readonly string[]> =>
  (await readScript({ stem: 'a', fileName, path: '/p', text })).warnings

const OPEN = { type: 'object', additionalProperties: true }

describe('C12: a bare script', () => {
  test.each([
    ['a.py', 'python_runtime', ['version', 'tool_type', 'executor']],
    ['a.sh', 'bash_runtime', ['version']],
    ['a.js', 'node_runtime', ['version']],
    ['a.mjs', 'node_runtime', ['version']],
    ['a.cjs', 'node_runtime', ['version']],
    ['a.ts', 'deno_runtime', ['version']],
  ])('%s has a virtual manifest on %s', async (fileName, executor, undeclared) => {
    expect(await read(fileName, '')).toEqual({
      tool_id: 'a',
      tool_type: 'script',
      executor,
      version: '1.0.0',
      config: { entrypoint: fileName },
      input_schema: OPEN,
      mutates_state: true,
      _file: fileName,
      _virtual: true,
      _undeclared: undeclared,
    })
  })

  test.each([
    ['a.sh', '#!/bin/sh', 'bash_runtime'],
    ['a.sh', '#!/usr/bin/env -S bash -e', 'bash_runtime'],
    ['a.sh', '\uFEFF#! /usr/bin/env python3', 'python_runtime'],
    ['a.js', '#!/usr/bin/env deno', 'deno_runtime'],
    ['a.ts', '#!/usr/bin/env -S node --x', 'node_runtime'],
    ['a.py', '#!/usr/bin/env -S uv run --script', 'python_runtime'],
  ])('%s with %s runs on %s', async (fileName, shebang, executor) => {
    expect(await read(fileName, `${shebang}\n`)).toMatchObject({ executor })
  })

  test('with the program of no runtime is a fault that names it, unless it names its executor', async () => {
    await expect(read('a.sh', '#!/usr/bin/perl\n')).rejects.toMatchObject({
      code: 'INVALID_MANIFEST',
      message: expect.stringContaining('"perl"'),
      details: { invalid: [{ name: 'executor' }] },
    })
    expect(await read('a.sh', '#!/usr/bin/perl\n# executor: perl_runtime\n')).toMatchObject({
      executor: 'perl_runtime',
    })
  })

  test('SIG-01: signature lines are no part of what it says, and do not move a fault', async () => {
    const line = `kiwi-mcp:validated:2026-01-28T12:34:56Z:${'a'.repeat(64)}`
    for (const [fileName, mark, shebang, rest] of [
      ['a.sh', '#', '#!/bin/bash\n', '# Say hello.\necho hi\n'],
      ['a.py', '#', '#!/usr/bin/env python3\n', '"""Say hello."""\n'],
      ['a.mjs', '//', '', '/** Say hello. */\n'],
    ] as const) {
      const bare = await read(fileName, shebang + rest)
      expect(bare).toMatchObject({ description: 'Say hello.' })
      expect(await read(fileName, `${shebang}${mark} ${line}\n${rest}`)).toEqual(bare)
    }
    await expect(read('a.py', `# ${line}\nCONFIG = {"a": 1,\n"a": 2}\n`)).rejects.toThrow('line 3, column 1')
  })
})

describe('L2: what a Python file says of itself', () => {
  test('its constants, its docstring and its schema section', async () => {
    const text = `#!/usr/bin/env python3
"""Count words in a text,
and tell how many.

More about it.

Config Schema:
    text (string, required): the text
    limit (int): how many at most
"""
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "python_runtime"
__category__ = "utility"
CONFIG: dict = {"timeout": 5, "mutates_state": False}
ENV_CONFIG = {"env": {"A": "1"}, "interpreter": {"type": "venv_python"}}
VALIDATION = {"rules": []}
requires = ["httpx>=0.24"]
`
    const raw = await read('words.py', text)
    expect(raw).toEqual({
      tool_id: 'words',
      tool_type: 'python',
      executor: 'python_runtime',
      version: '1.0.0',
      description: 'Count words in a text, and tell how many.',
      category: 'utility',
      config: { timeout: 5, mutates_state: false, requires: ['httpx>=0.24'], entrypoint: 'words.py' },
      parameters: [
        { name: 'text', type: 'string', required: true, description: 'the text' },
        { name: 'limit', type: 'integer', required: false, description: 'how many at most' },
      ],
      mutates_state: false,
      env_config: { env: { A: '1' }, interpreter: { type: 'venv_python' } },
      validation: { rules: [] },
      _file: 'words.py',
      _documentation: expect.stringContaining('More about it.'),
    })
    expect(readManifest(raw, { stem: 'words', category: null }).manifest).toMatchObject({
      tool_type: 'script',
      config: { env: { A: '1' } },
    })
  })

  test('a computed value is reported by name and never worked out', async () => {
    const text = `import os
__version__ = os.environ["V"]
CONFIG = {"a": open("marker", "w").write("x")}
__category__ = "a" + "b"
requires = []
requires = list_them()
def f():
    __tool_type__ = "api"
`
    expect(await warningsOf('a.py', text)).toEqual(
      ['__version__', 'CONFIG', '__category__', 'requires'].map(
        (name) => `${name} is computed when the file runs: it is not read`,
      ),
    )
    expect(await read('a.py', text)).toMatchObject({ _virtual: true, version: '1.0.0' })
  })

  test.each<readonly [string, string, JsonObject]>([
    ['a description of its own wins', '"""Doc."""\n__tool_description__ = "Own."', { description: 'Own.' }],
    ['up to Usage', '"""What it does.\nUsage: a b\n"""', { description: 'What it does.' }],
    [
      'metadata in the docstring when there is none else',
      '"""Doc.\n\nversion: 2.1.0\ncategory: web\n"""',
      {
        version: '2.1.0',
        category: 'web',
      },
    ],
    [
      'no metadata in the docstring when there are constants',
      '"""Doc.\n\nversion: 2.1.0\n"""\n__version__ = "1.0.0"',
      {
        version: '1.0.0',
      },
    ],
    [
      'a null executor is none',
      '__executor_id__ = None\n__version__ = "1.0.0"',
      {
        executor: 'python_runtime',
        _undeclared: ['tool_type', 'executor'],
      },
    ],
    ['the last assignment counts', '__version__ = "1.0.0"\n__version__ = "2.0.0"', { version: '2.0.0' }],
    [
      'an api in a Python file is data',
      '"""Get it."""\n__tool_type__ = "api"\n__executor_id__ = "http_client"\n__version__ = "1.0.0"\nCONFIG = {"url": "https://x.test"}',
      {
        tool_type: 'api',
        executor: 'http_client',
        config: { url: 'https://x.test' },
      },
    ],
    [
      'a container is named by its type',
      '__tool_type__ = "docker"\nCONFIG = {"image": "python:3.12"}',
      {
        tool_type: 'docker',
        config: { image: 'python:3.12', entrypoint: 'a.py' },
      },
    ],
    ['a broken file as far as it goes', '__version__ = "1.0.0"\ndef (:\n  "', { version: '1.0.0' }],
  ])('%s', async (_, text, raw) => {
    expect(await read('a.py', text)).toMatchObject(raw)
  })

  test('a primitive is no file', async () => {
    await expect(read('a.py', '__tool_type__ = "primitive"')).rejects.toMatchObject({
      code: 'INVALID_MANIFEST',
      details: { invalid: [{ name: 'tool_type' }] },
    })
  })

  test.each<readonly [string, string, JsonObject]>([
    [
      'as JSON',
      '    {"type": "object", "properties": {"a": {"type": "string"}}}',
      {
        input_schema: { type: 'object', properties: { a: { type: 'string' } } },
      },
    ],
    [
      'as YAML',
      '    a:\n      type: str\n      required: true\n    b: int',
      {
        parameters: [
          { name: 'a', type: 'string', required: true },
          { name: 'b', type: 'integer' },
        ],
      },
    ],
  ])('its schema section may be written %s', async (_, section, schema) => {
    expect(await read('a.py', `"""Doc.\n\nConfig Schema:\n${section}\n\nUsage: x\n"""`)).toMatchObject(schema)
  })

  test('a schema section that cannot be read is told of', async () => {
    expect(await warningsOf('a.py', '"""Doc.\n\nConfig Schema:\n    just words: [\n"""')).toEqual([
      'its "Config Schema" section cannot be read',
    ])
    expect(await warningsOf('a.py', 'CONFIG_SCHEMA = 5')).toEqual([
      'CONFIG_SCHEMA has none of the forms a schema can have',
    ])
  })
})

describe('L2: parameters of a Python file', () => {
  test.each<readonly [string, string, JsonObject]>([
    [
      'JSON Schema',
      'CONFIG_SCHEMA = {"type": "object", "properties": {"a": {}}}',
      {
        input_schema: { type: 'object', properties: { a: {} } },
      },
    ],
    [
      'a list',
      'CONFIG_SCHEMA = [{"name": "a", "type": "str", "required": True}]',
      {
        parameters: [{ name: 'a', type: 'string', required: true }],
      },
    ],
    [
      'one by one',
      'CONFIG_SCHEMA = {"a": {"type": "float", "default": 1.5}, "b": "bool"}',
      {
        parameters: [
          { name: 'a', type: 'number', default: 1.5 },
          { name: 'b', type: 'boolean' },
        ],
      },
    ],
  ])('from CONFIG_SCHEMA as %s, before anything else', async (_, text, schema) => {
    expect(await read('a.py', `${text}\ndef main(x): pass\n`)).toMatchObject(schema)
  })

  test('R20: from argparse, with what each option is', async () => {
    const text = `import argparse
parser = argparse.ArgumentParser()
parser.add_argument("file", help="What "
                    "to read")
parser.add_argument("-n", "--max-lines", type=int, default=10, help="how many")
parser.add_argument("--mode", choices=["a", "b"], required=True)
parser.add_argument("--verbose", action="store_true")
parser.add_argument("--tag", action="append")
parser.add_argument("--names", nargs="+", type=str)
parser.add_argument("--out", dest="target", type=pathlib.Path, default=find())
parser.add_argument("--project-path")
parser.add_argument("--no-cache", dest="cache", action="store_false")
parser.add_argument("--version", action="version", version="1")
parser.add_argument(name_of_it)
# parser.add_argument("--no")
`
    const flagNames = {
      file: '',
      max_lines: '--max-lines',
      names: '--names...',
      target: '--out',
      project_path: '--project-path',
      no_cache: '--no-cache',
    }
    expect(await read('a.py', text)).toMatchObject({
      config: { args_style: 'flags', flag_names: flagNames },
      parameters: [
        { name: 'file', type: 'string', required: true, description: 'What to read' },
        { name: 'max_lines', type: 'integer', required: false, default: 10, description: 'how many' },
        { name: 'mode', type: 'string', required: true, enum: ['a', 'b'] },
        { name: 'verbose', type: 'boolean', required: false, default: false },
        { name: 'tag', type: 'array', required: false },
        { name: 'names', type: 'array', required: false },
        { name: 'target', type: 'string', required: false },
        { name: 'no_cache', type: 'boolean', required: false, default: false },
      ],
    })
  })

  test('from the signature of its function', async () => {
    const text = `async def run(
    email: str,
    count: int = 5,
    ratio: "float" = 0.5,
    names: list[str] = (),
    options: Optional[dict] = None,
    *,
    deep: bool | None = False,
    other=compute(),
) -> dict:
    return {}
`
    expect((await read('a.py', text))['parameters']).toEqual([
      { name: 'email', type: 'string', required: true },
      { name: 'count', type: 'integer', required: false, default: 5 },
      { name: 'ratio', type: 'any', required: false, default: 0.5 },
      { name: 'names', type: 'array', required: false, default: [] },
      { name: 'options', type: 'object', required: false },
      { name: 'deep', type: 'boolean', required: false, default: false },
      { name: 'other', type: 'any', required: false },
    ])
    expect(await read('a.py', 'def main(a: int, **kwargs): pass')).toMatchObject({
      input_schema: {
        type: 'object',
        properties: { a: { type: 'integer' } },
        required: ['a'],
        additionalProperties: true,
      },
    })
    expect(await read('a.py', 'def execute(params, project_path): pass')).toMatchObject({
      input_schema: OPEN,
    })
    expect(await read('a.py', 'def main(): pass')).toMatchObject({ parameters: [] })
  })
})

describe('R20: how a Python file takes its parameters', () => {
  const main = 'def main(a):\n    pass\n'
  test.each<readonly [string, string, JsonObject]>([
    ['a parser', `import argparse\n${main}`, { args_style: 'flags' }],
    ['another parser', 'from click import command\n', { args_style: 'flags' }],
    ['one imported inside', `def main():\n    import fire\n`, { args_style: 'flags' }],
    ['only places in a parser', 'import argparse\np.add_argument("a")', { args_style: 'positional' }],
    ['sys.argv', `import sys\nprint(sys.argv[1])\n`, { args_style: 'positional' }],
    ['a function that is called by itself', `${main}\nprint(main())\n`, {}],
    ['a function', main, { args_style: 'call', entry_function: 'main' }],
    [
      'several functions',
      'def execute(a): pass\ndef run(a): pass\n',
      { args_style: 'call', entry_function: 'run' },
    ],
    ['a guard', `${main}if __name__ == "__main__":\n    main(1)\n`, {}],
    ['a guard the other way round', `${main}if '__main__' == __name__: main(1)\n`, {}],
    ['a method', 'class A:\n    def main(self): pass\n', {}],
    ['code at the top', 'print(1)\n', {}],
    ['words in a text', '"""import argparse, sys.argv"""\nprint("sys.argv")\n', {}],
    ['what its config says', `CONFIG = {"args_style": "equals"}\nimport argparse`, { args_style: 'equals' }],
  ])('%s', async (_, text, config) => {
    expect((await read('a.py', text))['config']).toEqual({ entrypoint: 'a.py', ...config })
  })
})
