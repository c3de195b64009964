import { lstatSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { errnoOf, messageOf } from '../shared/errors.ts'
import { IN_WORDS, fieldFaults } from '../shared/field-faults.ts'
import { LIMITS } from '../shared/limits.ts'
import { leadsOutTo } from './disk.ts'
import { parseDocument } from './parse-document.ts'
import { decodeText, readRegularFile } from './read-file.ts'

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
  const ruleOf = (root: string, within: string | null): Promise<string | null> | string | null => {
    const path = join(root, FILE)
    const stamp = stampOf(path)
    if (stamp === null) return null
    const known = files.get(path)
    if (known?.stamp === stamp) return known.read
    const read = readRule(path, within)
    files.set(path, { stamp, read })
    void read.then((rule) => files.set(path, { stamp, read: rule }))
    return read
  }
  return (projectPath) => {
    const users = ruleOf(userSpace, null)
    const projects = projectPath === null ? null : ruleOf(join(projectPath, '.ai'), projectPath)
    if (users instanceof Promise || projects instanceof Promise) {
      return Promise.all([users, projects]).then(([a, b]) => ({ signatureRequiredBy: a ?? b }))
    }
    return { signatureRequiredBy: users ?? projects }
  }
}

/** Null: there is none. What cannot be looked at is there, and will be found unreadable. */
function stampOf(path: string): string | null {
  try {
    const stat = lstatSync(path, { throwIfNoEntry: false })
    return stat === undefined ? null : `${stat.mtimeMs}:${stat.size}:${stat.ino}`
  } catch (error) {
    return errnoOf(error) === 'ENOTDIR' ? null : errnoOf(error)
  }
}

/**
 * A protection that cannot be read must not pass for none. Only the person, whose file lies within no project, may do
 * without signatures.
 */
async function readRule(path: string, within: string | null): Promise<string | null> {
  try {
    if (within !== null && leadsOutTo(dirname(path), within) !== null)
      throw new Error('a link leads out of the project')
    const text = decodeText(readRegularFile(path, LIMITS.itemBytes).bytes, path)
    const given = HarnessFile.safeParse(await parseDocument(text, path), IN_WORDS)
    if (!given.success) {
      const faults = fieldFaults(given.error.issues)
      throw new Error(
        faults.map(({ name, reason }) => `${name === '' ? 'it' : `"${name}"`} ${reason}`).join(', '),
      )
    }
    const { mode, require_signature: wanted } = given.data
    const isRequired = wanted === true || (mode === 'proxy' && !(wanted === false && within === null))
    return isRequired ? `"${path}" requires it` : null
  } catch (error) {
    return `"${path}" cannot be read, so it is required: ${messageOf(error)}`
  }
}
