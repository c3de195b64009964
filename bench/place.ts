import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The project's root, seen from the built benchmark in `dist-dev/`. */
export const ROOT = join(import.meta.dirname, '..')

/** Folders of its own, so that a benchmark leaves nothing behind. */
export interface Place {
  readonly folder: string
  readonly project: string
  readonly env: Readonly<Record<string, string>>
  remove(): void
}

export function makePlace(): Place {
  const folder = mkdtempSync(join(tmpdir(), 'kiwi-bench-'))
  const project = join(folder, 'project')
  mkdirSync(project)
  return {
    folder,
    project,
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: folder,
      KIWI_USER_SPACE: join(folder, 'user'),
      KIWI_LOG_LEVEL: 'error',
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
