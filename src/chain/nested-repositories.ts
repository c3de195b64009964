import type { Dirent } from 'node:fs'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'

/** More would cost a call more than it is worth; those nearest to the top are found first. */
const MOST_FOLDERS = 500
/** What packages bring along is no place where people work. */
const PASSED_OVER: ReadonlySet<string> = new Set(['node_modules', '.venv', '.ai'])

/** The `.git` of repositories that lie inside of a folder. */
export function nestedRepositories(root: string): readonly string[] {
  const found: string[] = []
  const open = [root]
  for (const folder of open) {
    for (const entry of entriesOf(folder)) {
      const path = join(folder, entry.name)
      if (entry.name === '.git') {
        if (folder !== root) found.push(path)
      } else if (entry.isDirectory() && !PASSED_OVER.has(entry.name) && open.length < MOST_FOLDERS)
        open.push(path)
    }
  }
  return found
}

function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return []
  }
}
