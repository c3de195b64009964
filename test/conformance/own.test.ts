import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Offered } from '../surfaces/offered.ts'
import { openOffered } from '../surfaces/offered.ts'
import { failuresAmong, runSuite } from './run-suite.ts'

const MINUTES = 60_000

let offered: Offered
beforeAll(async () => {
  offered = await openOffered()
  offered.temp.write(
    'directives/greeting/SKILL.md',
    '---\nname: greeting\ndescription: How to greet somebody\n---\nSay hello.\n',
  )
  offered.temp.write('directives/greeting/references/names.md', 'Ada\n')
  offered.temp.write('knowledge/note.md', 'A note.\n')
})
afterAll(() => offered.close())

/** Those of the suite that name nothing of a fixture. */
const SCENARIOS = [
  'server-initialize',
  'ping',
  'tools-list',
  'prompts-list',
  'resources-list',
  'sep-2164-resource-not-found',
  'caching',
  'completion-complete',
  'sep-2640-skills-directory',
  'sep-2640-skills-enumeration',
  'sep-2640-skills-manifest',
]

test(
  'X11, X2: what Kiwi itself offers passes the scenarios of prompts, resources and skills',
  async () => {
    const failures: string[] = []
    for (const scenario of SCENARIOS) {
      const ends = await runSuite('server', ['--url', offered.url, '--scenario', scenario])
      failures.push(...failuresAmong([scenario], ends))
    }
    expect(failures).toEqual([])
  },
  5 * MINUTES,
)
