import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Batch, BatchItem } from './batch.ts'
import { STATES, isWritten } from './batch.ts'
import type { Step } from './plan-import.ts'
import type { Source } from './recognise.ts'
import type { Survey } from './survey.ts'

/** The report of an import, before it is carried out. */
export function makeBatch(
  about: { id: string; time: string; to: 'user' | 'project'; root: string },
  { path, layout }: Source,
  found: Survey,
  steps: readonly Step[],
): Batch {
  const items = steps.map(({ line }) => line)
  return {
    batch: about.id,
    time: about.time,
    source: path,
    layout,
    to: about.to,
    root: about.root,
    totals: totalsOf(items, found.left.length),
    items,
    not_imported: found.left,
    history: { ...found.history },
    proposed_secrets: found.secrets,
    folders: foldersToMake(about.root, items),
    servers: [],
    secrets: [],
    undone_at: null,
  }
}

export function totalsOf(items: readonly BatchItem[], left: number): Batch['totals'] {
  const count = (state: BatchItem['state']): number => items.filter((item) => item.state === state).length
  const totals = Object.fromEntries(STATES.map((state) => [state, count(state)]))
  return { ...ZERO, ...totals, skipped: count('skipped') + left }
}

const ZERO: Batch['totals'] = {
  imported: 0,
  updated: 0,
  unchanged: 0,
  conflict: 0,
  needs_repair: 0,
  skipped: 0,
}

function foldersToMake(root: string, items: readonly BatchItem[]): readonly string[] {
  const folders = new Set<string>()
  for (const { to } of items.filter(isWritten)) {
    for (let folder = dirname(to); folder !== '.'; folder = dirname(folder)) folders.add(folder)
  }
  return [...folders].filter((folder) => !existsSync(join(root, folder))).toSorted()
}
