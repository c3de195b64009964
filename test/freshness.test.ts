import { appendFileSync, mkdirSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Client } from '@modelcontextprotocol/client'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { field } from './fixtures/field.ts'
import type { Place } from './fixtures/place.ts'
import { makePlace } from './fixtures/place.ts'
import { stdioClient } from './fixtures/stdio-client.ts'
import type { TempKiwi } from './temp-kiwi.ts'
import { openTempKiwi, resultsOf } from './temp-kiwi.ts'

/** The ways editors save a file. */
const SAVES: Readonly<Record<string, (path: string, text: string) => void>> = {
  'in place': (path, text) => writeFileSync(path, text),
  'by a rename over it': (path, text) => {
    writeFileSync(`${path}.swp`, text)
    renameSync(`${path}.swp`, path)
  },
  'by deleting and making it': (path, text) => {
    rmSync(path, { force: true })
    writeFileSync(path, text)
  },
}

const manifest = (word: string): string =>
  `tool_id: echo_it\ntool_type: script\nexecutor: bash_runtime\nversion: 1.0.0\ndescription: quetzal ${word}\nconfig: {entrypoint: main.sh}\n`

function put(path: string, text: string, save: (path: string, text: string) => void): void {
  mkdirSync(dirname(path), { recursive: true })
  save(path, text)
}

describe.each([false, true])('C14, E2: with watch = %s, a file that was saved', (watch) => {
  let temp: TempKiwi
  beforeEach(async () => {
    temp = await openTempKiwi({ settings: { watch } })
  })
  afterEach(() => temp.close())

  test.each(Object.entries(SAVES))('%s is found and run by the next call', async (_, save) => {
    const folder = join(temp.project, '.ai/tools/words/echo_it')
    // Nothing is there when it is first looked at.
    expect(resultsOf(await temp.search('quetzal in:local'))).toEqual([])
    for (const word of ['one', 'another', 'third']) {
      put(join(folder, 'tool.yaml'), manifest(word), save)
      put(join(folder, 'main.sh'), `echo ${word}`, save)
      expect(resultsOf(await temp.search(`quetzal ${word} in:local`))).toMatchObject([
        { description: `quetzal ${word}` },
      ])
      expect(await temp.run('echo_it')).toMatchObject({ data: { output: `${word}\n` } })
    }
    rmSync(folder, { recursive: true })
    expect(resultsOf(await temp.search('quetzal in:local'))).toEqual([])
    expect((await temp.run('echo_it')).error?.code).toBe('NOT_FOUND')
  })

  test('is seen in the user space too, and a project’s wins as soon as it is there', async () => {
    const at = (root: string): string => join(root, 'tools/echo_it')
    const [user, project] = [at(temp.config.userSpace), at(join(temp.project, '.ai'))]
    const fill = (folder: string, word: string): void => {
      put(join(folder, 'main.sh'), `echo ${word}`, writeFileSync)
      put(join(folder, 'tool.yaml'), manifest(word), writeFileSync)
    }
    fill(user, 'user')
    expect(await temp.run('echo_it')).toMatchObject({ data: { output: 'user\n' } })
    fill(project, 'project')
    expect(resultsOf(await temp.search('quetzal in:local'))).toMatchObject([{ source: 'project' }])
    expect(await temp.run('echo_it')).toMatchObject({ data: { output: 'project\n' } })
    appendFileSync(join(user, 'main.sh'), '\n')
    unlinkSync(join(project, 'tool.yaml'))
    expect(await temp.run('echo_it')).toMatchObject({ data: { output: 'user\n' } })
  })
})

describe.each([false, true])('C14, E2: with watch = %s, a server in a process of its own', (watch) => {
  let place: Place
  let client: Client
  beforeEach(async () => {
    place = makePlace()
    put(join(place.folder, 'user/kiwi.json'), JSON.stringify({ watch }), writeFileSync)
    ;({ client } = await stdioClient(place))
  })
  afterEach(async () => {
    await client.close()
    place.remove()
  })

  const call = async (name: string, args: Record<string, unknown>): Promise<unknown> =>
    (await client.callTool({ name, arguments: args })).structuredContent

  test.each(Object.entries(SAVES))('sees what was saved %s in the next call', async (_, save) => {
    const folder = join(place.folder, 'user/tools/words/echo_it')
    for (const word of ['one', 'another', 'third']) {
      put(join(folder, 'tool.yaml'), manifest(word), save)
      put(join(folder, 'main.sh'), `echo ${word}`, save)
      const found = await call('search', { query: `quetzal ${word} in:local` })
      expect(field(found, 'data', 'results')).toMatchObject([{ description: `quetzal ${word}` }])
      const run = { item_type: 'tool', action: 'run', item_id: 'echo_it' }
      expect(await call('execute', run)).toMatchObject({ data: { output: `${word}\n` } })
    }
  })
})
