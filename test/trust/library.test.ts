import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { Reply } from '../../src/shared/reply.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { openTempKiwi } from '../temp-kiwi.ts'
import { signAs } from './callers.ts'

let temp: TempKiwi
afterEach(() => temp.close())

const PYTHON = { tool_type: 'script', executor: 'python_runtime', description: 'says what its library says' }
const SOURCE = 'try:\n    from shared_word import WORD\nexcept ImportError:\n    WORD = "none"\nprint(WORD)\n'

const withLibrary = async (isTrusted: boolean): Promise<void> => {
  temp = await openTempKiwi({ isTrusted })
  temp.write('tools/lib/shared_word.py', 'WORD = "shared"\n')
  expect((await temp.create('says', PYTHON, { 'main.py': SOURCE })).status).toBe('success')
}

const outputOf = ({ data, metadata }: Reply): unknown => ({ data, warnings: metadata.warnings })

test('L1: what lies in tools/lib can be imported by every tool of the space', async () => {
  await withLibrary(true)
  expect(await temp.run('says')).toMatchObject({ data: { output: 'shared\n' } })
})

test('N17: a library that came with a project nobody trusts is left out, and that is told', async () => {
  await withLibrary(false)
  expect(outputOf(await temp.run('says'))).toMatchObject({
    data: { output: 'none\n' },
    warnings: [expect.stringContaining('nobody has trusted the project')],
  })
})

test('R54: where signatures are required a library is left out, since nobody signs it', async () => {
  await withLibrary(true)
  await signAs(temp, 'person', 'says')
  temp.write('config/agent_harness.yaml', 'mode: proxy\n')
  expect(outputOf(await temp.run('says'))).toMatchObject({
    data: { output: 'none\n' },
    warnings: [expect.stringContaining('nobody signs it')],
  })
  writeFileSync(join(temp.project, '.ai/config/agent_harness.yaml'), 'mode: direct\n')
  expect(await temp.run('says')).toMatchObject({ data: { output: 'shared\n' } })
})
