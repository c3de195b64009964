import { afterEach, beforeEach, expect, test } from 'vitest'
import { makePartStore } from '../../test/fixtures/part-store.ts'
import type { TempChain } from '../../test/fixtures/temp-chain.ts'
import { openTempChain } from '../../test/fixtures/temp-chain.ts'

let temp: TempChain
beforeEach(async () => {
  temp = await openTempChain()
})
afterEach(() => temp.close())

async function failureAfter(lines: string): Promise<unknown> {
  const store = makePartStore(temp.folder)
  temp.tool('part_runtime', store.runtime)
  store.first(lines)
  const config = { requires: ['wheel', 'front-axle>=2'] }
  temp.tool('cart', { tool_type: 'script', executor: 'part_runtime', config }, { 'main.sh': 'true' })
  return temp.run('cart').catch((error: unknown) => error)
}

test('the line that tells is shown, and not where a log lies', async () => {
  const said = [
    'code E404',
    "404  'wheel@*' is not in this registry.",
    '404',
    'A complete log of this run: /x',
  ]
  const lines = said.map((line) => `echo "npm error ${line}" >&2`).join('; ')
  expect(await failureAfter(`${lines}; exit 1`)).toMatchObject({
    message: `Cannot run "cart": "wheel" cannot be installed: npm error 404  'wheel@*' is not in this registry.`,
  })
})
