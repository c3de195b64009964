import { mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openTempPolicy } from '../../../test/fixtures/temp-policy.ts'
import { withKeptHarness } from './kept-harness.ts'

test('H1 H11: a harness file of a project that goes is a fault, and none once it is back', async () => {
  const temp = openTempPolicy()
  try {
    const policyOf = withKeptHarness(temp.policyOf)
    const faults = async (project: string | null = temp.project) => (await policyOf(project)).faults
    expect(await faults()).toEqual([])
    temp.write('project', 'mode: nonsense\n')
    expect(await faults()).toHaveLength(1)
    rmSync(join(temp.project, '.ai'), { recursive: true })
    expect(await faults()).toEqual([])
    temp.write('project', 'mode: proxy\n')
    expect(await faults()).toEqual([])
    const file = join(temp.project, '.ai/config/agent_harness.yaml')
    rmSync(file)
    const gone = [{ file, line: 1, column: 1, reason: expect.stringContaining('it is gone') }]
    expect(await faults()).toEqual(gone)
    expect(await faults()).toEqual(gone)
    expect(await faults(null)).toEqual([])
    expect(await faults(temp.folder)).toEqual([])
    temp.write('project', 'mode: proxy\n')
    expect(await faults()).toEqual([])
  } finally {
    temp.close()
  }
})

test('H1: a project that was put in the place of another binds nobody more loosely', async () => {
  const temp = openTempPolicy()
  try {
    const policyOf = withKeptHarness(temp.policyOf)
    const part = join(temp.project, 'part')
    mkdirSync(part)
    const file = join(temp.project, '.ai/config/agent_harness.yaml')
    temp.write('project', 'mode: proxy\n')
    expect((await policyOf(temp.project)).faults).toEqual([])
    temp.write('project', 'mode: hybrid\n')
    expect((await policyOf(temp.project)).faults).toEqual([])
    renameSync(temp.project, `${temp.project}-away`)
    const gone = [{ file, line: 1, column: 1, reason: expect.stringContaining('it is gone') }]
    expect((await policyOf(temp.project)).faults).toEqual(gone)
    mkdirSync(part, { recursive: true })
    expect((await policyOf(part, temp.project)).faults).toEqual(gone)
    expect((await policyOf(temp.folder, temp.project)).faults).toEqual(gone)
    temp.write('project', 'mode: direct\n')
    const replaced = [
      { file, line: 1, column: 1, reason: expect.stringContaining('in the place of the one') },
    ]
    expect((await policyOf(part, temp.project)).faults).toEqual(replaced)
    expect((await policyOf(temp.project)).faults).toEqual(replaced)
    rmSync(temp.project, { recursive: true })
    renameSync(`${temp.project}-away`, temp.project)
    expect((await policyOf(temp.project)).faults).toEqual([])
  } finally {
    temp.close()
  }
})
