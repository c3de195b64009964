import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readItem } from '../read-item.ts'
import { scan } from '../scan.ts'
import type { Directive } from './model.ts'
import { readDirective } from './read-directive.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'kiwi-directives-'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

async function read(path: string, text: string): Promise<Directive> {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), text)
  const [entry] = scan(root).values()
  if (entry === undefined) throw new Error('nothing was found')
  return readDirective(await readItem(entry, 'project'))
}

const SEEDS = join(import.meta.dirname, '../../../test/fixtures/seeds/directives')

test.each(readdirSync(SEEDS).filter((name) => name.endsWith('.md')))(
  'D1: the seeds’ %s is read',
  async (name) => {
    const directive = await read(`directives/${name}`, readFileSync(join(SEEDS, name), 'utf8'))
    expect(directive).toMatchSnapshot()
  },
)
