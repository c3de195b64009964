import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { field } from '../fixtures/field.ts'
import { openFilesServer } from '../fixtures/files-server.ts'

/** Puts a link to the outside where the folder was, and the folder back, as fast as it can. */
const SWAP = `
const { renameSync, symlinkSync, unlinkSync, writeSync } = require('node:fs')
const [folder, outside] = process.argv.slice(1)
writeSync(1, 'go')
for (;;) {
  renameSync(folder, folder + '.aside')
  symlinkSync(outside, folder)
  unlinkSync(folder)
  renameSync(folder + '.aside', folder)
}`

test('FS-04: while a folder and a link to the outside take turns, 20 000 reads and 500 writes stay inside', async () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'kiwi-race-')))
  const [folder, outside] = [join(root, 'folder'), join(root, 'outside')]
  for (const [at, text] of [
    [folder, 'ours'],
    [outside, 'LEAK'],
  ] as const) {
    mkdirSync(join(at, 'inner'), { recursive: true })
    for (const name of ['file', 'inner/file']) writeFileSync(join(at, name), text)
  }
  const server = openFilesServer()
  const swapper = spawn(process.execPath, ['-e', SWAP, folder, outside])
  try {
    await new Promise((resolve) => swapper.stdout.once('data', resolve))
    const counts = { ours: 0, refused: 0, leaked: 0 }
    // Right below what changes, and further down, where no flag of an open looks at it.
    const paths = [join(folder, 'file'), join(folder, 'inner/file')]
    // On a busy machine the swapper may stand still for a while.
    const isSeen = (): boolean => counts.ours > 0 && counts.refused > 0
    for (let at = 0; at < 20_000 || !isSeen(); at += 500) {
      const said = await Promise.all(
        Array.from({ length: 500 }, (_, n) => server.call('read', { path: paths[n % 2] ?? '' })),
      )
      for (const { output, refusal } of said) {
        if (refusal !== null) counts.refused += 1
        else counts[field(output, 'content') === 'ours' ? 'ours' : 'leaked'] += 1
      }
    }
    expect(counts.leaked).toBe(0)
    expect(counts.ours).toBeGreaterThan(0)
    expect(counts.refused).toBeGreaterThan(0)
    for (let at = 0; at < 500; at++)
      await server.call('create', { path: join(folder, at % 2 === 0 ? '' : 'inner', `new-${at}`) })
    expect(readdirSync(outside)).toEqual(['file', 'inner'])
    expect(readdirSync(join(outside, 'inner'))).toEqual(['file'])
  } finally {
    swapper.kill('SIGKILL')
    server.close()
    rmSync(root, { recursive: true, force: true })
  }
}, 120_000)
