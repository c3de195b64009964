import { join } from 'node:path'
import type { Trust } from '../store/store.ts'
import { realPathOf } from './disk.ts'

/** Whether a person lets the items of a project run. At home they work in their own space, which needs nobody's word. */
export async function isTrustedProject(
  projectPath: string,
  userSpace: string,
  projects: Trust['projects'],
): Promise<boolean> {
  const root = realPathOf(join(projectPath, '.ai'))
  if (root !== null && root === realPathOf(userSpace)) return true
  const path = realPathOf(projectPath)
  return (await projects()).some((trusted) => trusted.path === path)
}
