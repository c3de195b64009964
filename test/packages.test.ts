import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listField, textField } from './fixtures/field.ts'
import { makeWheel } from './fixtures/wheels.ts'
import type { TempKiwi } from './temp-kiwi.ts'
import { openTempKiwi } from './temp-kiwi.ts'

/** An interpreter makes its environment in seconds, on a busy machine in many. */
const LONG = 120_000
let temp: TempKiwi
let wheels: string

beforeAll(async () => {
  const first = await openTempKiwi()
  wheels = join(first.folder, 'wheels')
  makeWheel(wheels, {
    name: 'kiwiwire',
    version: '0.25.0',
    modules: { 'kiwiwire/__init__.py': 'def fetch(domain): return {"name": domain.split(".")[0].title()}\n' },
    requires: ['kiwimodel>=2'],
  })
  makeWheel(wheels, {
    name: 'kiwimodel',
    version: '2.1.0',
    modules: { 'kiwimodel.py': 'class Company:\n    def __init__(self, name): self.company_name = name\n' },
  })
  await first.kiwi.close()
  temp = await openTempKiwi({
    beside: first,
    settings: { packages: { python: { no_index: true, find_links: [wheels] } } },
  })
}, LONG)
afterAll(async () => {
  await temp.close()
})

const PYTHON = { tool_type: 'script', executor: 'python_runtime', description: 'a tool of the tests' }
const built = (): readonly string[] => {
  const root = join(temp.config.cache, 'environments/python_runtime')
  return existsSync(root) ? readdirSync(root) : []
}

const ENRICHER = {
  manifest: {
    ...PYTHON,
    version: '1.2.0',
    config: { entrypoint: 'main.py', requires: ['kiwiwire>=0.24.0', 'kiwimodel>=2.0'] },
    parameters: [{ name: 'email', type: 'string', required: true }],
    outputs: { type: 'object', properties: { company_name: { type: 'string' } } },
    mutates_state: false,
  },
  files: {
    'main.py': `import asyncio, json, sys
from lib.clearbit import ClearbitClient

async def run(email: str):
    return await ClearbitClient().find(email)

print(json.dumps(asyncio.run(run(json.load(sys.stdin)["email"])) | {"prefix": sys.prefix != sys.base_prefix}))
`,
    'requirements.txt': 'kiwiwire>=0.24.0\nkiwimodel>=2.0\n',
    'lib/clearbit.py': `import kiwimodel, kiwiwire

class ClearbitClient:
    async def find(self, email):
        domain = email.split("@")[1]
        return {"company_name": kiwimodel.Company(kiwiwire.fetch(domain)["name"]).company_name, "domain": domain}
`,
  },
}

describe('C10, R25: a Python tool with packages', () => {
  beforeAll(async () => {
    const { status, error } = await temp.create('email_enricher', ENRICHER.manifest, ENRICHER.files)
    expect(error).toBeNull()
    expect(status).toBe('success')
  })

  test('S9: a dry run says what would be installed and by what, and installs nothing', async () => {
    const reply = await temp.call('execute', {
      item_type: 'tool',
      action: 'run',
      item_id: 'email_enricher',
      parameters: { email: 'ada@acme.com' },
      dry_run: true,
    })
    expect(reply).toMatchObject({
      status: 'dry_run',
      data: { would_install: ['kiwiwire>=0.24.0', 'kiwimodel>=2.0'] },
    })
    expect(listField(reply.data, 'would_build_with')[0]).toMatch(/\/(?:uv|python3)$/)
    expect(textField(reply.data, 'would_run', 'command')).toMatch(/\/current\/bin\/python$/)
    expect(built()).toEqual([])
  })

  test(
    'runs with them in a virtual environment, and a second run needs no package index any more',
    async () => {
      const parameters = { email: 'ada@acme.com' }
      const expected = { company_name: 'Acme', domain: 'acme.com', prefix: true }
      const first = await temp.run('email_enricher', parameters)
      expect(first.error).toBeNull()
      expect(first.data).toMatchObject({ output: expected })
      expect(first.metadata.warnings).toBeUndefined()
      renameSync(wheels, `${wheels}.gone`)
      expect((await temp.run('email_enricher', parameters)).data).toMatchObject({ output: expected })
      renameSync(`${wheels}.gone`, wheels)
      expect(built()).toHaveLength(1)
    },
    LONG,
  )

  test('H2: what builds is judged and on record beside what runs', async () => {
    const decisions = await temp.kiwi.store.records({ limit: 100, tool: 'email_enricher', status: 'allow' })
    const programs = decisions.map(
      ({ body }) => listField(body, 'demands').filter((demand) => String(demand).startsWith('exec ')).length,
    )
    // Created with the one that checks its syntax, run with two, run with one.
    expect(programs.toSorted((one, other) => one - other)).toEqual([1, 1, 2])
  })

  test('without packages the bare interpreter runs, and nothing is built', async () => {
    const before = built().length
    await temp.create('bare', PYTHON, { 'main.py': 'import sys; print(sys.prefix == sys.base_prefix)' })
    expect((await temp.run('bare')).data).toMatchObject({ output: 'True\n' })
    expect(built()).toHaveLength(before)
  })

  test('with venv.enabled: false it runs bare, and a warning names the packages', async () => {
    const config = { requires: ['kiwiwire'], venv: { enabled: false } }
    await temp.create('loose', { ...PYTHON, config }, { 'main.py': 'print("ran")' })
    const reply = await temp.run('loose')
    expect(reply.data).toMatchObject({ output: 'ran\n' })
    expect(reply.metadata.warnings).toEqual([expect.stringContaining('kiwiwire')])
  })

  test(
    'a package that cannot be had is named, with what the installer says; the environment stays away',
    async () => {
      const before = built().length
      await temp.create(
        'wanting',
        { ...PYTHON, config: { requires: ['kiwi-nowhere>=9'] } },
        { 'main.py': '' },
      )
      const { error } = await temp.run('wanting')
      expect(error).toMatchObject({
        code: 'DEPENDENCY_UNAVAILABLE',
        message: expect.stringContaining('"kiwi-nowhere>=9" cannot be installed'),
      })
      expect(built()).toHaveLength(before)
    },
    LONG,
  )

  test('SUP-02: a package from somewhere else is refused at create, and from a file at run', async () => {
    const config = { requires: ['x @ git+https://example.com/x'] }
    expect((await temp.create('foreign', { ...PYTHON, config }, { 'main.py': '' })).error).toMatchObject({
      code: 'DEPENDENCY_REFUSED',
    })
    await temp.create('listed', PYTHON, {
      'main.py': '',
      'requirements.txt': '--index-url https://evil.example\n',
    })
    expect((await temp.run('listed')).error).toMatchObject({
      code: 'DEPENDENCY_REFUSED',
      message: expect.stringContaining('is an option'),
    })
  })
})

test('C10: where there is a uv, it builds', async () => {
  const folder = join(temp.folder, 'bin')
  mkdirSync(folder)
  const log = join(temp.folder, 'uv.log')
  // Takes the arguments that the real one takes, and makes as much of an environment as a run needs.
  const program = `#!/bin/sh
echo "$@" >> '${log}'
echo "$UV_INDEX_URL $PIP_INDEX_URL" > '${log}.env'
[ "$1" = venv ] || exit 0
for last; do :; done
mkdir -p "$last/bin" && ln -s "$5" "$last/bin/python"
`
  writeFileSync(join(folder, 'uv'), program, { mode: 0o755 })
  const path = `${folder}:${process.env['PATH'] ?? ''}`
  const index_url = 'https://ada:geheimnis@127.0.0.1:1/simple'
  const beside = await openTempKiwi({
    beside: temp,
    environment: { PATH: path },
    settings: { packages: { python: { no_index: true, index_url } } },
  })
  await beside.create(
    'quick',
    { ...PYTHON, config: { requires: ['kiwiwire>=0.2'] } },
    { 'main.py': 'print("ran")' },
  )
  expect((await beside.run('quick')).data).toMatchObject({ output: 'ran\n' })
  const [venv = '', install = ''] = readFileSync(log, 'utf8').split('\n')
  expect(venv).toMatch(/^venv --quiet --allow-existing --python \/\S+\/python3 \/\S+$/)
  expect(install).toMatch(/^pip install .*--no-index .*--only-binary=:all: -r \/\S+\/requirements\.txt$/)
  // A password stands where the processes of others do not see it.
  expect(readFileSync(log, 'utf8')).not.toContain('geheimnis')
  expect(readFileSync(`${log}.env`, 'utf8')).toBe(`${index_url} ${index_url}\n`)
  await beside.close()
})

describe('L7: a tool that says nothing of what it needs', () => {
  const dryRun = (item_id: string): ReturnType<TempKiwi['call']> =>
    temp.call('execute', { item_type: 'tool', action: 'run', item_id, dry_run: true })

  test('needs what it imports, without what is its own, shared or of the language', async () => {
    temp.write('tools/lib/mylib.py', 'HELPER = 1')
    await temp.create('guessing', PYTHON, {
      'main.py':
        'import json, kiwiwire\nfrom bs4 import BeautifulSoup\nfrom datetime import date\nimport part, mylib, lib.mylib',
      'part.py': 'from kiwimodel import Company',
    })
    expect((await dryRun('guessing')).data).toMatchObject({
      would_install: ['kiwiwire', 'beautifulsoup4', 'kiwimodel'],
    })
  })

  test('a script beside other scripts does not mistake them for packages', async () => {
    temp.write('tools/text/alone.py', 'import neighbour, kiwimodel\n')
    temp.write('tools/text/neighbour.py', 'WORD = 1\n')
    expect((await dryRun('alone')).data).toMatchObject({ would_install: ['kiwimodel'] })
  })

  test('and one that says something is taken at its word', async () => {
    const files = { 'main.py': 'import kiwiwire', 'requirements.txt': '# nothing\n' }
    await temp.create('content', PYTHON, files)
    expect((await dryRun('content')).data).not.toHaveProperty('would_install')
    await temp.create(
      'chosen',
      { ...PYTHON, config: { requires: ['kiwimodel'] } },
      { 'main.py': 'import kiwiwire' },
    )
    expect((await dryRun('chosen')).data).toMatchObject({ would_install: ['kiwimodel'] })
  })

  test('what cannot be had was perhaps not meant: the error says so', { timeout: LONG }, async () => {
    await temp.create('mistaken', PYTHON, { 'main.py': 'import kiwi_no_such_module' })
    expect((await temp.run('mistaken')).error).toMatchObject({
      code: 'DEPENDENCY_UNAVAILABLE',
      hint: expect.stringContaining('found among its imports'),
    })
  })

  test('on Node.js likewise', async () => {
    await temp.create(
      'asking',
      { ...PYTHON, executor: 'node_runtime' },
      {
        'main.mjs':
          "import fs from 'node:fs'\nimport a from 'kiwi-shout'\nimport '@kiwi/part/x'\nimport './own.mjs'",
        'own.mjs': '',
      },
    )
    expect((await dryRun('asking')).data).toMatchObject({ would_install: ['kiwi-shout', '@kiwi/part'] })
  })

  test(
    'runs with it',
    async () => {
      await temp.create('found', PYTHON, {
        'main.py': 'import kiwimodel\nprint(kiwimodel.Company("Acme").company_name)',
      })
      expect((await temp.run('found')).data).toMatchObject({ output: 'Acme\n' })
    },
    LONG,
  )
})
