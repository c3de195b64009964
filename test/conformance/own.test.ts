import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Offered } from '../surfaces/offered.ts'
import { openOffered } from '../surfaces/offered.ts'
import { failuresAmong, runSuite } from './run-suite.ts'

const MINUTES = 60_000

let offered: Offered
beforeAll(async () => {
  offered = await openOffered()
  offered.temp.write(
    'directives/a-greeting/SKILL.md',
    '---\nname: a-greeting\ndescription: How to greet somebody\n---\nSay hello.\n',
  )
  offered.temp.write('directives/a-greeting/references/names.md', 'Ada\n')
  offered.temp.write('directives/test_simple_prompt.md', '---\ndescription: A simple prompt\n---\nGo.\n')
  offered.temp.write(
    'directives/test_prompt_with_arguments.md',
    '---\ndescription: Two inputs\ninputs: [{name: arg1, required: true}, {name: arg2, required: true}]\n---\nSay {arg1}, then {arg2}.\n',
  )
})
afterAll(() => offered.close())

/** Those of the suite that need no tool and no resource of the name that a fixture gives it; the first skill is looked at. */
const SCENARIOS = [
  'prompts-list',
  'prompts-get-simple',
  'prompts-get-with-args',
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
