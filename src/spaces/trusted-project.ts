import { join } from 'node:path'
import type { Trust } from '../store/store.ts'
import { realPathOf } from './disk.ts'

/** Whether a person lets the items of a project run. At home they work in their own space, which needs nobody's word. */
export async function isTrustedProject(
  projectPath: string,
  userSpace: string,
  projects: Trust['projects'],
): Promise<boolean> {
  if (isOwnSpace(projectPath, userSpace)) return true
  const path = realPathOf(projectPath)
  return (await projects()).some((trusted) => trusted.path === path)
}

/** Whether the items of this folder are those of the person's own space. */
export function isOwnSpace(projectPath: string, userSpace: string): boolean {
  const root = realPathOf(join(projectPath, '.ai'))
  return root !== null && root === realPathOf(userSpace)
}
