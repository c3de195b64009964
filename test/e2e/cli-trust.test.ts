import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { sha256 } from '../../src/shared/json.ts'
import type { Place } from '../fixtures/place.ts'
import { makePlace } from '../fixtures/place.ts'
import { CLI, kiwi } from './temp-server.ts'

let place: Place
beforeEach(() => {
  place = makePlace()
})
afterEach(() => place.remove())

function brought(id: string, code: string): string {
  const folder = join(place.project, '.ai/tools', id)
  mkdirSync(folder, { recursive: true })
  const manifest = 'tool_type: script\nexecutor: bash_runtime\nversion: 1.0.0\ndescription: x\n'
  writeFileSync(join(folder, 'tool.yaml'), manifest)
  writeFileSync(join(folder, 'main.sh'), `#!/bin/bash\n${code}`)
  return join(folder, 'tool.yaml')
}

function library(): void {
  mkdirSync(join(place.project, '.ai/tools/lib'), { recursive: true })
  writeFileSync(join(place.project, '.ai/tools/lib/part.py'), 'x = 1\n')
}

describe('kiwi trust', () => {
  test('N17: refused without it, runs with it, and no longer after --revoke', async () => {
    brought('greets', 'echo hi')
    const refused = await kiwi(place, ['run', 'greets'])
    expect(refused).toMatchObject({
      code: 4,
      stderr: expect.stringContaining(`kiwi trust --project ${place.project}`),
    })
    expect(await kiwi(place, ['trust', '--yes'])).toMatchObject({
      code: 0,
      stdout: `Trusted: ${place.project}\n`,
    })
    expect(await kiwi(place, ['run', 'greets'])).toMatchObject({
      code: 0,
      stdout: 'hi\n',
      stderr: expect.stringContaining('"greets" is not signed'),
    })
    expect((await kiwi(place, ['trust', '--list'])).stdout).toContain(place.project)
    expect((await kiwi(place, ['trust', '--revoke'])).code).toBe(0)
    expect((await kiwi(place, ['run', 'greets'])).code).toBe(4)
    expect((await kiwi(place, ['trust', '--list'])).stderr).toContain('No project is trusted')
  })

  test('N17: without a terminal and without --yes nobody was asked, so nothing is trusted', async () => {
    brought('greets', 'echo hi')
    const { code, stderr } = await kiwi(place, ['trust'], 'y\n')
    expect([code, stderr]).toEqual([2, expect.stringMatching(/CONFIRM_REQUIRED.*no terminal[^]*--yes/)])
    expect((await kiwi(place, ['trust', '--list', '--json'])).stdout.trim()).toBe('[]')
  })

  test.each([
    ['y', 0, 1],
    ['n', 4, 0],
  ])(
    'N17: at a terminal it shows what the project brings, and takes %j for an answer',
    async (answer, code, count) => {
      brought('greets', 'echo hi')
      const waves = brought('waves', 'echo o/')
      const text = readFileSync(waves, 'utf8')
      writeFileSync(waves, `# kiwi-mcp:validated:2026-01-28T12:34:56Z:${sha256(text)}\n${text}`)
      brought('signed', 'echo signed')
      await kiwi(place, ['sign', 'signed'])
      library()
      const child = spawn(
        'python3',
        ['-c', 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)', process.execPath, CLI, 'trust'],
        { cwd: place.project, env: place.env },
      )
      let shown = ''
      let isAnswered = false
      for (const stream of [child.stdout, child.stderr]) {
        stream.on('data', (chunk) => {
          shown += String(chunk)
          if (!isAnswered && shown.includes('[y/N]')) {
            isAnswered = true
            child.stdin.write(`${answer}\n`)
          }
        })
      }
      const [ended] = await once(child, 'close')
      expect(shown).toMatch(
        /It brings 3 tool, 1 library\.\s+greets \(unsigned\)\s+waves \(signed by nobody known\)\s+\.ai\/tools\/lib \(library of 1 files\)[^]*Trust this project\?/,
      )
      expect(ended).toBe(code)
      expect(JSON.parse((await kiwi(place, ['trust', '--list', '--json'])).stdout)).toHaveLength(count)
    },
  )

  test.each([
    ['with its environment', ''],
    ['without one of its variables', 'env -u KIWI_CALL_ID '],
    ['without any', `env -i HOME="$HOME" PATH="$PATH" `],
  ])('SIG-11, N17: a tool cannot give the word of a person, %s', async (_, cleared) => {
    brought(
      'lifts',
      `${cleared}"${process.execPath}" "${CLI}" trust --yes --project "${place.project}" 2>&1\ntrue\n`,
    )
    await kiwi(place, ['sign', 'lifts'])
    const { stdout } = await kiwi(place, ['run', 'lifts'])
    expect(stdout).toContain('PERMISSION_DENIED Cannot start kiwi from a tool')
    expect((await kiwi(place, ['trust', '--list', '--json'])).stdout.trim()).toBe('[]')
  })
})

describe('kiwi init', () => {
  test('N17: makes the folders, trusts the project, and says what comes next; again it changes nothing', async () => {
    const { code, stdout, stderr } = await kiwi(place, ['init'])
    expect([code, stdout]).toEqual([0, expect.stringContaining('(trusted)')])
    expect(stderr.match(/^ {2}kiwi /gm)).toHaveLength(3)
    for (const folder of ['tools', 'directives', 'knowledge']) {
      expect(existsSync(join(place.project, '.ai', folder))).toBe(true)
    }
    const ignore = join(place.project, '.ai/.gitignore')
    expect(readFileSync(ignore, 'utf8')).toBe('outputs/\nlogs/\ncheckpoints/\n')
    writeFileSync(ignore, 'mine\n')
    brought('greets', 'echo hi')
    expect((await kiwi(place, ['init'])).code).toBe(0)
    expect(readFileSync(ignore, 'utf8')).toBe('mine\n')
    expect((await kiwi(place, ['run', 'greets'])).stdout).toBe('hi\n')
  })

  test('N17: a library is reason enough to ask first', async () => {
    library()
    expect((await kiwi(place, ['init'])).code).toBe(2)
    expect((await kiwi(place, ['trust', '--list', '--json'])).stdout.trim()).toBe('[]')
  })

  test('N17: where there are items already, it asks first', async () => {
    brought('greets', 'echo hi')
    expect((await kiwi(place, ['init'])).code).toBe(2)
    expect((await kiwi(place, ['run', 'greets'])).code).toBe(4)
    expect((await kiwi(place, ['init', '--yes'])).code).toBe(0)
    expect((await kiwi(place, ['run', 'greets'])).code).toBe(0)
  })
})

describe('kiwi sign', () => {
  test('L5, N12: a person signs by id and by pattern, and it is level 3', async () => {
    const path = brought('greets', 'echo hi')
    brought('waves', 'echo o/')
    const one = await kiwi(place, ['sign', 'greets'])
    expect(one).toMatchObject({ code: 0, stdout: expect.stringMatching(/^signed +greets +\//) })
    expect(readFileSync(path, 'utf8')).toMatch(/^# kiwi-mcp:validated:.*\n# kiwi-mcp:signed:/)
    const all = await kiwi(place, ['sign', '*', 'nope'])
    expect(all.code).toBe(3)
    expect(all.stdout).toMatch(/unchanged +greets[^]*signed +waves/)
    const { stdout } = await kiwi(place, ['load', 'greets', '--json'])
    expect(JSON.parse(stdout)).toMatchObject({
      data: { signature: { state: 'signed', by: 'person' }, trust: { level: 3, name: 'person' } },
    })
    expect((await kiwi(place, ['run', 'greets'])).stdout).toBe('hi\n')
  })

  test('N12: where one of many cannot be signed, the exit code says so', async () => {
    brought('greets', 'echo hi')
    const broken = join(place.project, '.ai/tools/broken.yaml')
    writeFileSync(broken, 'tool_id: broken\ntool_type: [\n')
    const { code, stdout } = await kiwi(place, ['sign', '*'])
    expect(stdout).toMatch(/signed +greets[^]*failed .*broken\.yaml/)
    expect(code).toBe(2)
  })
})

describe('kiwi doctor', () => {
  test('N17: says whether the project is trusted, and which key is the own', async () => {
    expect((await kiwi(place, ['doctor'])).stdout).toMatch(
      /ok +key +made at the first[^]*ok +trust .*no items/,
    )
    brought('greets', 'echo hi')
    expect((await kiwi(place, ['doctor'])).stdout).toMatch(
      /warn +trust .*its 1 items do not run[^]*kiwi trust/,
    )
    await kiwi(place, ['sign', 'greets'])
    await kiwi(place, ['trust', '--yes'])
    expect((await kiwi(place, ['doctor'])).stdout).toMatch(
      /ok +key +[0-9a-f]{16} in [^]*ok +trust .*is trusted/,
    )
    mkdirSync(join(place.project, '.ai/config'))
    writeFileSync(join(place.project, '.ai/config/agent_harness.yaml'), 'mode: [')
    chmodSync(join(place.folder, 'user/kiwi.key'), 0o644)
    const { stdout } = await kiwi(place, ['doctor'])
    expect(stdout).toMatch(/fail +key .*can be read by others[^]*chmod 600/)
    expect(stdout).toMatch(/fail +policy +.*agent_harness\.yaml:1:\d+: /)
  })
})
