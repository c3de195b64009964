import { dirname, join, resolve } from 'node:path'
import type { Config } from '../config/config.ts'
import { realPathOf, statBehind } from '../spaces/disk.ts'

/** The nearest folder from here upwards that has `.ai`; without one, this folder. What is the user's own is no project. */
export function findProject(
  from: string,
  { userSpace, environment }: Pick<Config, 'userSpace' | 'environment'>,
): string {
  const own = new Set([userSpace, join(environment['HOME'] ?? '/', '.ai')].map(real))
  const home = real(environment['HOME'] ?? '/')
  for (let folder = resolve(from); real(folder) !== home; folder = dirname(folder)) {
    const root = join(folder, '.ai')
    if (statBehind(root)?.isDirectory() === true && !own.has(real(root))) return folder
    if (dirname(folder) === folder) break
  }
  return resolve(from)
}

function real(path: string): string {
  return realPathOf(path) ?? resolve(path)
}
