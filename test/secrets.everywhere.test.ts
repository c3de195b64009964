import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Wish } from '../src/kernel/call.ts'
import { parseItemRef } from '../src/shared/ids.ts'
import type { Reply } from '../src/shared/reply.ts'
import type { TempKiwi } from './temp-kiwi.ts'
import { BASH, openTempKiwi } from './temp-kiwi.ts'

const CANARY = 'kiwi-canary/0123456789+abc'
const MARK = '[REDACTED:VAULT_KEY]'
let temp: TempKiwi

beforeAll(async () => {
  temp = await openTempKiwi({ environment: { KIWI_VAULT_PASSPHRASE: 'of the tests' } })
  await act({ kind: 'secret', name: 'VAULT_KEY', value: CANARY })
  await temp.create(
    'leaks',
    { ...BASH, mutates_state: true, config: { env: { KEY: '${VAULT_KEY}' } }, secrets: ['VAULT_KEY'] },
    { 'main.sh': `echo "$KEY" > "${temp.project}/leaked.txt"` },
  )
})
afterAll(() => temp.close())

const act = (wish: Wish): Promise<Reply> =>
  temp.kiwi.act(
    { wish: () => wish, operation: wish.kind, subject: 'x' },
    {
      principal: 'user:ada',
      session: 'terminal',
      kind: 'person',
      defaultProject: () => Promise.resolve(temp.project),
    },
  )

/** Every file below the folders of this Kiwi that holds a text. */
function filesWith(text: string): readonly string[] {
  return readdirSync(temp.folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => readFileSync(path).includes(text))
}

test('X7, RED-01: what one call was granted comes back by no other, and stands in no record, mirror, question or saved output', async () => {
  const names = ['VAULT_KEY']
  const ref = parseItemRef('leaks')
  await act({ kind: 'grant', ref, names, sinks: [], principal: '*', expectedDigest: null })
  const leaked = await temp.run('leaks')
  expect(leaked).toMatchObject({ status: 'success' })

  const replies = [
    leaked,
    await temp.run('filesystem.read', { path: join(temp.project, 'leaked.txt') }),
    await temp.run('shell.run', { argv: ['cat', 'leaked.txt'] }),
    await temp.run('shell.run', { argv: ['base64', '-w0', 'leaked.txt'] }),
    await temp.run('shell.run', { argv: ['echo', CANARY] }),
    await temp.run('filesystem.read', { path: `/nowhere/${CANARY}` }),
    await temp.run('filesystem.read', { [CANARY]: 1 }),
    await temp.run(`nothing_${CANARY}`),
    await temp.search(CANARY),
    await temp.call('execute', { item_type: 'tool', action: CANARY, item_id: 'leaks' }),
    // A person is asked about what writes these.
    await temp.run('filesystem.write', { path: join(temp.project, 'package.json'), content: CANARY }),
    // Cut in the middle of it.
    await temp.run(`${'n'.repeat(240)}${CANARY}`),
  ]
  const said = JSON.stringify(replies)
  expect(replies[1]).toMatchObject({ data: { output: { content: `${MARK}\n` } } })
  expect(said).not.toContain(CANARY)
  expect(said).not.toContain(CANARY.slice(0, 16))
  expect(said).not.toContain(Buffer.from(CANARY).toString('base64').slice(0, 30))

  const records = JSON.stringify(await temp.kiwi.store.records({ limit: 1000 }))
  expect(records).toContain(MARK)
  expect(records).not.toContain(CANARY.slice(0, 16))
  const questions = JSON.stringify(await temp.kiwi.questions.list({ limit: 100 }))
  expect(questions).not.toContain(CANARY.slice(0, 16))
  // What the tool itself wrote is the only place, with what is kept in the store to undo that.
  const files = filesWith(CANARY.slice(0, 16)).filter((path) => !path.endsWith('leaked.txt'))
  expect(files.filter((path) => !path.includes('kiwi.db'))).toEqual([])
})

test('X7: what a program gave comes back by no other call either, however it failed or was asked about', async () => {
  const given = 'kiwi-given/9876543210+xyz'
  const argv = ['bash', '-c', 'printf "kiwi-%s/9876543210+xyz" given']
  await act({ kind: 'secret_command', name: 'GIVEN_KEY', argv })
  const secrets = ['GIVEN_KEY']
  await temp.create(
    'leaks_given',
    { ...BASH, mutates_state: true, secrets },
    { 'main.sh': `echo "$GIVEN_KEY" > "${temp.project}/given.txt"; echo "$GIVEN_KEY" | base64; exit 3` },
  )
  const ref = parseItemRef('leaks_given')
  await act({ kind: 'grant', ref, names: secrets, sinks: [], principal: '*', expectedDigest: null })
  const replies = [
    await temp.run('leaks_given'),
    await temp.run('filesystem.read', { path: join(temp.project, 'given.txt') }),
    await temp.run('shell.run', { argv: ['base64', '-w0', 'given.txt'] }),
    await temp.run('filesystem.write', { path: join(temp.project, 'package.json'), content: given }),
    await temp.run(`nothing_${given}`),
  ]
  expect(replies[0]?.error?.code).toBe('TOOL_FAILED')
  expect(readFileSync(join(temp.project, 'given.txt'), 'utf8')).toBe(`${given}\n`)
  const said = JSON.stringify([
    replies,
    await temp.kiwi.store.records({ limit: 1000 }),
    await temp.kiwi.questions.list({ limit: 100 }),
  ])
  expect(said).toContain('[REDACTED:GIVEN_KEY]')
  for (const text of [given.slice(0, 16), Buffer.from(given).toString('base64').slice(0, 30), 'stand-in'])
    expect(said).not.toContain(text)
  const files = filesWith(given.slice(0, 16)).filter((path) => !path.endsWith('given.txt'))
  expect(files.filter((path) => !path.includes('kiwi.db'))).toEqual([])
})

test('X7: a value that was replaced is still taken out', async () => {
  await act({ kind: 'secret', name: 'VAULT_KEY', value: 'another-value-0123' })
  writeFileSync(join(temp.project, 'both.txt'), `${CANARY} another-value-0123`)
  const reply = await temp.run('filesystem.read', { path: join(temp.project, 'both.txt') })
  expect(JSON.stringify(reply)).toContain(`${MARK} ${MARK}`)
})
