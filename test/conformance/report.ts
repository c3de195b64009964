import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Revision } from './run-suite.ts'
import { failuresAmong, requiredScenarios, runSuite } from './run-suite.ts'

const TASKS = [
  'lifecycle',
  'capability-negotiation',
  'wire-fields',
  'request-state-removal',
  'mrtr-input',
  'request-headers',
  'dispatch-and-envelope',
  'required-task-error',
  'mrtr-composition',
].map((name) => `tasks-${name}`)
const SKILLS = ['directory', 'enumeration', 'manifest'].map((name) => `sep-2640-skills-${name}`)

/** How a server fared: how many scenarios of each kind passed, of how many, and what failed. */
export interface Report {
  readonly counts: Readonly<Record<'2025-11-25' | '2026-07-28' | 'tasks' | 'skills', string>>
  readonly failures: readonly string[]
}

const TABLE = join(import.meta.dirname, '../../docs/conformance.md')

/** What the documentation says of it is what was found. */
export function expectAll(what: string, { counts }: Report): void {
  expect(rowsOf(what)).toContainEqual([what, ...Object.values(counts)])
}

/** The same of a client, for one revision. */
export function expectClient(what: string, revision: Revision, count: string): void {
  const at = ['2025-11-25', '2026-07-28'].indexOf(revision) + 1
  expect(rowsOf(what).map((cells) => cells[at])).toEqual([count])
}

function rowsOf(what: string): readonly (readonly string[])[] {
  return readFileSync(TABLE, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
    .filter(([name]) => name === what)
}

/** Every scenario that a server must pass, and the two extensions, one suite after the other. */
export async function reportOn(url: string): Promise<Report> {
  const required = (revision: Revision): readonly string[] => requiredScenarios(revision, 'server')
  const older = await runSuite('server', ['--url', url, '--requirements', '2025-11-25'])
  // The scenarios of tasks run along, unscored.
  const newer = await runSuite('server', ['--url', url, '--requirements', '2026-07-28'])
  const skills = new Map<string, { passed: number; failures: readonly string[] }>()
  for (const scenario of SKILLS) {
    for (const [name, end] of await runSuite('server', ['--url', url, '--scenario', scenario]))
      skills.set(name, end)
  }
  const parts = {
    '2025-11-25': [required('2025-11-25'), older],
    '2026-07-28': [required('2026-07-28'), newer],
    tasks: [TASKS, newer],
    skills: [SKILLS, skills],
  } as const
  const count = (part: keyof typeof parts): string => {
    const [names, ends] = parts[part]
    const passed = names.filter((name) => failuresAmong([name], ends).length === 0)
    return `${passed.length}/${names.length}`
  }
  return {
    counts: {
      '2025-11-25': count('2025-11-25'),
      '2026-07-28': count('2026-07-28'),
      tasks: count('tasks'),
      skills: count('skills'),
    },
    failures: Object.values(parts).flatMap(([names, ends]) => failuresAmong(names, ends)),
  }
}
