import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { compilePlan } from '../src/chain/compile-plan.ts'
import { openSchemas } from '../src/chain/schemas.ts'
import { BUILTIN, sampleFile, sampleItem, shippedItem } from './fixtures/sample-item.ts'

test('every package that is shipped as a server has its exact version', async () => {
  const names = readdirSync(join(BUILTIN, 'tools/servers')).map((file) => file.replace('.yaml', ''))
  expect(names.length).toBeGreaterThan(3)
  for (const name of names) {
    const { config } = (await shippedItem(name)).manifest
    expect(config, name).toMatchObject({
      command: 'npx',
      args: expect.arrayContaining([expect.stringMatching(/^@[a-z]+\/[a-z-]+@\d+\.\d+\.\d+$/)]),
    })
  }
})

describe('a script in a container', () => {
  const compileFor = async (image: string): Promise<readonly string[]> => {
    const script = sampleItem({ tool_type: 'script', executor: 'docker_runtime', config: { image } }, [
      sampleFile('main.sh', ''),
    ])
    const chain = [script, await shippedItem('docker_runtime'), await shippedItem('subprocess')]
    const { effect } = await compilePlan(chain, openSchemas())
    return effect.kind === 'subprocess' ? effect.command.args.map(({ source }) => source) : []
  }

  test('has an init that hands TERM on, is removed at its end, and has no network', async () => {
    const args = await compileFor('alpine:3')
    expect(args.slice(0, args.indexOf('{image}'))).toEqual(
      expect.arrayContaining(['--init', '--rm', '--network', 'none']),
    )
  })

  test.each(['--privileged', '-v/:/host', '--network=host', ''])(
    '"%s" is an option of the program, not an image',
    async (image) => {
      await expect(compileFor(image)).rejects.toMatchObject({ code: 'INVALID_CONFIG' })
    },
  )
})
