import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Kiwi } from '../src/kiwi.ts'
import type { Client } from '../src/meta/meta.ts'
import type { Figure } from './measure.ts'
import { round, summarize, timed } from './measure.ts'

const FOLDERS = 60
const FILES = 50

/** What keeping costs around a command that changes one file, in a repository of 3,000 files; and around a write. */
export async function undo(
  kiwi: Kiwi,
  client: Client,
  project: string,
  rounds: number,
): Promise<readonly Figure[]> {
  for (let folder = 0; folder < FOLDERS; folder++) {
    mkdirSync(join(project, `folder-${folder}`))
    for (let file = 0; file < FILES; file++)
      writeFileSync(join(project, `folder-${folder}/${file}.txt`), `${folder} ${file}\n`.repeat(500))
  }
  const git = (...args: string[]): void =>
    void execFileSync('git', ['-c', 'user.name=b', '-c', 'user.email=b@b', ...args], { cwd: project })
  git('init', '-q')
  git('add', '-A')
  git('commit', '-qm', 'first')
  const call = async (item_id: string, parameters: object): Promise<void> => {
    const reply = await kiwi.call(
      'execute',
      { item_type: 'tool', action: 'run', item_id, parameters },
      client,
    )
    if (reply.status !== 'success') throw new Error(JSON.stringify(reply.error))
  }
  const times = async (work: (at: number) => Promise<void>): Promise<number> => {
    const all: number[] = []
    for (let at = 0; at < rounds; at++) all.push(await timed(() => work(at)))
    return summarize(all).p50
  }
  await call('shell.run', { command: 'ls' })
  await call('filesystem.write', { path: 'folder-1/1.txt', content: 'x' })
  const bare = await times(() => call('shell.run', { command: 'git status' }))
  const first = await timed(() => call('shell.run', { command: 'cp folder-0/0.txt copy.txt' }))
  const later = await times((at) =>
    call('shell.run', { command: `cp folder-0/${at % FILES}.txt copy-${at}.txt` }),
  )
  const write = await times((at) => call('filesystem.write', { path: 'written.txt', content: String(at) }))
  const detail = `git status, which only reads, ${round(bare)} ms; the first time, which takes over what git knows, ${round(first)} ms`
  return [
    {
      id: 'undo',
      what: 'a command line that changes a file among 3,000',
      value: round(later),
      unit: 'ms',
      target: null,
      how: 'shell.run through the gate, p50: what stands below the project is noted before and compared after',
      detail,
    },
    {
      id: 'undo',
      what: 'a write of one file',
      value: round(write),
      unit: 'ms',
      target: null,
      how: 'filesystem.write through the gate, p50',
      detail: 'with what was there kept in the store',
    },
  ]
}
