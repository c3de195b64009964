import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { errnoOf, messageOf } from '../shared/errors.ts'
import { LIMITS } from '../shared/limits.ts'
import { parseDocument } from './parse-document.ts'

/** What the harness files of a project and its user ask for, taken together: the stricter wins. */
interface Harness {
  /** Why every item must be signed, or null when it need not be. */
  readonly signatureRequiredBy: string | null
}

export type HarnessOf = (projectPath: string | null) => Harness | Promise<Harness>

/** Of all its keys these are read so far. Its being there means proxy mode, unless it says otherwise. */
const HarnessFile = z.looseObject({
  mode: z.enum(['proxy', 'direct', 'hybrid']).default('proxy'),
  require_signature: z.boolean().optional(),
})

const FILE = join('config', 'agent_harness.yaml')

export function openHarness(userSpace: string): HarnessOf {
  const files = new Map<
    string,
    { readonly stamp: string; readonly read: Promise<string | null> | string | null }
  >()
  const ruleOf = (root: string, isUsers: boolean): Promise<string | null> | string | null => {
    const path = join(root, FILE)
    const stamp = stampOf(path)
    if (stamp === null) return null
    const known = files.get(path)
    if (known?.stamp === stamp) return known.read
    const read = readRule(path, isUsers)
    files.set(path, { stamp, read })
    void read.then((rule) => files.set(path, { stamp, read: rule }))
    return read
  }
  return (projectPath) => {
    const users = ruleOf(userSpace, true)
    const projects = projectPath === null ? null : ruleOf(join(projectPath, '.ai'), false)
    if (users instanceof Promise || projects instanceof Promise) {
      return Promise.all([users, projects]).then(([a, b]) => ({ signatureRequiredBy: a ?? b }))
    }
    return { signatureRequiredBy: users ?? projects }
  }
}

/** Null: there is none. What cannot be looked at is there, and will be found unreadable. */
function stampOf(path: string): string | null {
  try {
    const stat = statSync(path, { throwIfNoEntry: false })
    return stat === undefined ? null : `${stat.mtimeMs}:${stat.size}:${stat.ino}`
  } catch (error) {
    return errnoOf(error) === 'ENOTDIR' ? null : errnoOf(error)
  }
}

/** A protection that cannot be read must not pass for none. Only the person may do without signatures. */
async function readRule(path: string, isUsers: boolean): Promise<string | null> {
  try {
    const stat = statSync(path)
    if (!stat.isFile() || stat.size > LIMITS.itemBytes) throw new Error('it is no plain file, or too large')
    const given = HarnessFile.parse(await parseDocument(readFileSync(path, 'utf8'), path))
    const { mode, require_signature: wanted } = given
    const isRequired = wanted === true || (mode === 'proxy' && !(wanted === false && isUsers))
    return isRequired ? `"${path}" requires it` : null
  } catch (error) {
    return `"${path}" cannot be read, so it is required: ${messageOf(error)}`
  }
}
