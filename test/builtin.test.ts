import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { compilePlan } from '../src/chain/compile-plan.ts'
import { openSchemas } from '../src/chain/schemas.ts'
import { openTempKiwi } from './temp-kiwi.ts'
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

test('R1: seed 004: a tool of type docker runs the command of its image, and no value stands in the arguments', async () => {
  const folder = await openTempKiwi()
  const bin = join(folder.folder, 'bin')
  mkdirSync(bin)
  writeFileSync(join(bin, 'docker'), '#!/bin/sh\nprintf "%s|" "$@" "$MODE"\n')
  chmodSync(join(bin, 'docker'), 0o755)
  const temp = await openTempKiwi({
    beside: folder,
    environment: { PATH: `${bin}:${process.env['PATH'] ?? ''}` },
  })
  try {
    temp.write(
      'tools/dk.yaml',
      'tool_type: docker\nversion: 1.0.0\ndescription: d\nparameters: [{name: word}]\nexecutor_config: {image: alpine, command: echo, args: [hi, "{word}"], env: {MODE: quick}, volumes: [/data:/data]}\n',
    )
    expect(await temp.run('dk', { word: 'Ada' })).toMatchObject({
      data: {
        output: 'run|--rm|--init|-i|--network|none|--env=MODE|--volume=/data:/data|alpine|echo|hi|Ada|quick|',
      },
    })
  } finally {
    await temp.close()
    await folder.close()
  }
})
