import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { PartStore } from '../../test/fixtures/part-store.ts'
import { makePartStore } from '../../test/fixtures/part-store.ts'
import type { TempChain } from '../../test/fixtures/temp-chain.ts'
import { openTempChain } from '../../test/fixtures/temp-chain.ts'
import type { JsonObject } from '../shared/json.ts'
import { LIMITS } from '../shared/limits.ts'
import { OWN_PROCESS, tagText } from '../shared/own-process.ts'
import type { Progress } from '../shared/progress.ts'
import { merge } from './merge.ts'
import type { EnvironmentDraft } from './environment-draft.ts'

/** For a machine that is busy with other things. */
const WAIT = { timeout: 10_000 }
let temp: TempChain
let store: PartStore

beforeEach(async () => {
  temp = await openTempChain()
  store = makePartStore(temp.folder)
  temp.tool('part_runtime', store.runtime)
})
afterEach(() => temp.close())

const SHOW = 'if [ -n "$PARTS" ]; then cat "$PARTS"/*; else echo bare; fi'
const script = (id: string, requires: readonly string[], config: JsonObject = {}): void =>
  temp.tool(
    id,
    { tool_type: 'script', executor: 'part_runtime', config: { requires, ...config } },
    { 'main.sh': SHOW },
  )
const output = async (id: string): Promise<unknown> => (await temp.run(id)).data['output']
async function environmentOf(id: string): Promise<EnvironmentDraft> {
  const { effect } = await temp.draft(id)
  if (effect.kind !== 'subprocess' || effect.environment === null) throw new TypeError('no environment')
  return effect.environment
}

describe('T2, C10: a runtime with packages of its own is a manifest', () => {
  test('its packages are there when the script runs', async () => {
    script('cart', ['wheel>=2', 'axle'])
    expect(await output('cart')).toBe('part axle\npart wheel>=2\n')
    expect(store.calls()).toEqual(['wheel>=2 axle'])
  })

  test('a second run installs nothing, nor does another tool with the same packages', async () => {
    script('cart', ['wheel', 'axle'])
    script('wagon', ['axle', 'wheel'])
    await output('cart')
    await output('cart')
    await output('wagon')
    expect(store.calls()).toHaveLength(1)
  })

  test('other packages, another version or another runtime are another environment', async () => {
    script('cart', ['wheel'])
    script('wagon', ['wheel>=2'])
    temp.tool('other_runtime', {
      ...makePartStore(temp.folder, { env: { PARTS: '{environment}/parts', MORE: '1' } }).runtime,
    })
    temp.tool(
      'coach',
      { tool_type: 'script', executor: 'other_runtime', config: { requires: ['wheel'] } },
      { 'main.sh': SHOW },
    )
    for (const id of ['cart', 'wagon', 'coach']) await output(id)
    expect(store.calls()).toHaveLength(3)
  })

  test('packages come from the manifests of the whole chain and from the file of the tool', async () => {
    temp.tool('part_runtime', {
      ...store.runtime,
      config: merge(store.config, { default_packages: ['frame'] }),
    })
    temp.tool(
      'cart',
      { tool_type: 'script', executor: 'part_runtime', config: { requires: ['wheel'] } },
      { 'main.sh': SHOW, 'parts.txt': 'axle\nwheel\n' },
    )
    expect(await output('cart')).toBe('part axle\npart frame\npart wheel\n')
  })

  test('without packages nothing is built, and nothing is looked for', async () => {
    script('bare', [])
    rmSync(store.program)
    expect(await output('bare')).toBe('bare\n')
    expect(existsSync(join(temp.cache, 'environments'))).toBe(false)
  })

  test('it is private, and the draft says where it will lie and who builds it', async () => {
    script('cart', ['wheel'])
    const before = await environmentOf('cart')
    expect(before).toMatchObject({ packages: ['wheel'], builder: { programs: [store.program] } })
    expect(existsSync(before.place)).toBe(false)
    await output('cart')
    expect(lstatSync(before.place).mode & 0o777).toBe(0o700)
    expect(await environmentOf('cart')).toMatchObject({ builder: null, folder: before.folder })
  })
})

describe('C10: built once', () => {
  test('two first runs at the same time build one environment, and both run', async () => {
    store.first('sleep 0.3')
    script('cart', ['wheel'])
    expect(await Promise.all([output('cart'), output('cart'), output('cart')])).toEqual(
      Array.from({ length: 3 }, () => 'part wheel\n'),
    )
    expect(store.calls()).toHaveLength(1)
  })

  test('a build that fails leaves nothing, and the next call tries again', async () => {
    store.first('echo half > "$to/half"; echo "error: no such part" >&2; exit 3')
    script('cart', ['wheel'])
    await expect(temp.run('cart')).rejects.toMatchObject({ code: 'DEPENDENCY_UNAVAILABLE' })
    expect(readdirSync(join(temp.cache, 'environments/part_runtime'))).toEqual([])
    store.first('')
    expect(await output('cart')).toBe('part wheel\n')
    expect(store.calls()).toHaveLength(2)
  })

  test('steps that make something else than they promise are a fault of the runtime', async () => {
    temp.tool('odd_runtime', makePartStore(temp.folder, { command: '{environment}/bin/odd' }).runtime)
    temp.tool(
      'odd',
      { tool_type: 'script', executor: 'odd_runtime', config: { requires: ['wheel'] } },
      { 'main.sh': SHOW },
    )
    await expect(temp.run('odd')).rejects.toMatchObject({
      code: 'INVALID_CONFIG',
      message: expect.stringContaining('"odd"'),
    })
    expect(readdirSync(join(temp.cache, 'environments/odd_runtime'))).toEqual([])
  })

  test("a dead process's lock is taken over, and what it left is removed", async () => {
    script('cart', ['wheel'])
    const { place } = await environmentOf('cart')
    mkdirSync(join(place, '999999999-1-abc'), { recursive: true })
    writeFileSync(join(place, 'lock'), tagText({ ...OWN_PROCESS, pid: 999_999_999 }))
    expect(await output('cart')).toBe('part wheel\n')
    expect(readdirSync(place).toSorted()).toEqual(
      [readlinkSync(join(place, 'current')), 'current'].toSorted(),
    )
  })

  test("a living process's lock is waited for, and what it built is used", async () => {
    script('cart', ['wheel'])
    const { place } = await environmentOf('cart')
    mkdirSync(join(place, 'built/parts'), { recursive: true })
    writeFileSync(join(place, 'built/parts/wheel'), 'theirs\n')
    writeFileSync(join(place, 'lock'), tagText(OWN_PROCESS))
    const said: string[] = []
    const run = temp.chain.perform(await temp.draft('cart'), { report: ({ message }) => said.push(message) })
    await expect.poll(() => said.length).toBeGreaterThan(0)
    symlinkSync('built', join(place, 'current'))
    expect((await run).data['output']).toBe('theirs\n')
    expect(said[0]).toContain('waiting')
    expect(store.calls()).toEqual([])
  })

  test('one that goes between the draft and the run is not built by what nobody has judged', async () => {
    script('cart', ['wheel'])
    await output('cart')
    const draft = await temp.draft('cart')
    rmSync(join(temp.cache, 'environments'), { recursive: true })
    await expect(temp.chain.perform(draft)).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      retryable: true,
    })
    expect(store.calls()).toHaveLength(1)
  })

  test('one whose product is gone is built again', async () => {
    script('cart', ['wheel'])
    await output('cart')
    const { place } = await environmentOf('cart')
    rmSync(join(place, readlinkSync(join(place, 'current'))), { recursive: true })
    expect(await output('cart')).toBe('part wheel\n')
    expect(store.calls()).toHaveLength(2)
  })
})

describe('what takes long can be followed and ended', () => {
  test('progress names the steps, and its seconds grow', async () => {
    script('cart', ['wheel', 'axle'])
    const heard: Progress[] = []
    await temp.chain.perform(await temp.draft('cart'), { report: (progress) => heard.push(progress) })
    expect(heard.map(({ message }) => message)).toEqual(['fetching 2 packages'])
    expect(heard[0]?.seconds).toBeGreaterThanOrEqual(0)
  })

  test('who goes away does not end the build for the others', async () => {
    store.first('sleep 1')
    script('cart', ['wheel'])
    const cancel = new AbortController()
    const heard: Progress[] = []
    const draft = await temp.draft('cart')
    const gone = temp.run('cart', {}, cancel.signal)
    const patient = temp.chain.perform(draft, { report: (progress) => heard.push(progress) })
    await expect.poll(() => store.calls().length, WAIT).toBeGreaterThan(0)
    // From then on it waits for the same build.
    await expect.poll(() => heard.length, WAIT).toBeGreaterThan(0)
    cancel.abort()
    await expect(gone).rejects.toMatchObject({ code: 'CANCELLED' })
    expect(await patient).toMatchObject({ data: { output: 'part wheel\n' } })
    expect(store.calls()).toHaveLength(1)
  })

  test('when the last one goes away the build ends, and nothing of it stays', async () => {
    store.first('sleep 60')
    script('cart', ['wheel'])
    const cancel = new AbortController()
    const run = temp.run('cart', {}, cancel.signal)
    await expect.poll(() => store.calls().length, WAIT).toBeGreaterThan(0)
    cancel.abort()
    await expect(run).rejects.toMatchObject({ code: 'CANCELLED' })
    expect(readdirSync(join(temp.cache, 'environments/part_runtime'))).toEqual([])
    store.first('')
    expect(await output('cart')).toBe('part wheel\n')
  })

  test('it has a time of its own, which the timeout of the run does not end', async () => {
    store.first('sleep 0.6')
    script('cart', ['wheel'], { timeout: 0.5 })
    expect(await output('cart')).toBe('part wheel\n')
    store.first('sleep 60')
    script('slow', ['wheel', 'axle'], { environment: { timeout: 0.3 } })
    await expect(temp.run('slow')).rejects.toMatchObject({
      code: 'TIMEOUT',
      message: expect.stringContaining('its packages could not be installed'),
    })
    expect(readdirSync(join(temp.cache, 'environments/part_runtime'))).toHaveLength(1)
  })
})

describe('why packages could not be installed', () => {
  const failure = async (lines: string): Promise<unknown> => {
    store.first(lines)
    script('cart', ['wheel', 'front-axle>=2'])
    return temp.run('cart').catch((error: unknown) => error)
  }

  test('the package that the installer speaks of is named, with its last lines', async () => {
    expect(
      await failure('echo before >&2; echo "ERROR: no match for Front_Axle>=2" >&2; exit 1'),
    ).toMatchObject({
      code: 'DEPENDENCY_UNAVAILABLE',
      message: 'Cannot run "cart": "front-axle>=2" cannot be installed: ERROR: no match for Front_Axle>=2',
      details: { packages: ['front-axle>=2'], installer: expect.stringContaining('before') },
      retryable: true,
    })
  })

  test('SUP-02: a step that ends with 77 has refused what would be installed, and says why', async () => {
    expect(await failure('echo before >&2; echo \'"rim" comes from a file\' >&2; exit 77')).toMatchObject({
      code: 'DEPENDENCY_REFUSED',
      message: 'Cannot run "cart": its packages could not be installed: "rim" comes from a file',
    })
  })

  test('a full disk is STORE_FULL', async () => {
    expect(await failure('echo "OSError: [Errno 28] No space left on device" >&2; exit 1')).toMatchObject({
      code: 'STORE_FULL',
    })
  })

  test('a password in an address is not shown', async () => {
    const error = await failure('echo "error at https://ada:geheim@example.com/simple" >&2; exit 1')
    expect(JSON.stringify(error)).not.toContain('geheim')
    expect(error).toMatchObject({ message: expect.stringContaining('https://***@example.com/simple') })
  })

  test('a program that installs and is not there is named', async () => {
    temp.tool(
      'lost_runtime',
      makePartStore(temp.folder, {
        builders: [[{ say: 'x', run: ['kiwi-no-such-installer'] }]],
      }).runtime,
    )
    temp.tool(
      'lost',
      { tool_type: 'script', executor: 'lost_runtime', config: { requires: ['wheel'] } },
      { 'main.sh': SHOW },
    )
    await expect(temp.draft('lost')).rejects.toMatchObject({
      code: 'COMMAND_NOT_FOUND',
      message: expect.stringContaining('kiwi-no-such-installer'),
    })
  })

  test('a cache that cannot be written is STORE_UNAVAILABLE', async () => {
    mkdirSync(join(temp.cache, 'environments'), { recursive: true })
    writeFileSync(join(temp.cache, 'environments/part_runtime'), 'in the way')
    script('cart', ['wheel'])
    await expect(temp.run('cart')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  })
})

test('SUP-01, ENV-06: what installs gets the clean environment of a child, and cannot start Kiwi', async () => {
  const secret = await openTempChain({ environment: { FAKE_SECRET: 'kiwi-canary-0123456789' } })
  const parts = makePartStore(secret.folder)
  secret.tool('part_runtime', parts.runtime)
  parts.first(`env > '${secret.folder}/seen'`)
  secret.tool(
    'cart',
    { tool_type: 'script', executor: 'part_runtime', config: { requires: ['wheel'] } },
    { 'main.sh': SHOW },
  )
  await secret.run('cart')
  const seen = readFileSync(join(secret.folder, 'seen'), 'utf8')
  expect(seen).not.toContain('kiwi-canary')
  expect(seen).toContain('KIWI_CALL_ID=call-1')
  await secret.close()
})

test('what a tool requires of a runtime that installs nothing is a warning', async () => {
  temp.tool(
    'plain',
    { tool_type: 'script', executor: 'bash_runtime', config: { requires: ['jq'] } },
    { 'main.sh': 'true' },
  )
  expect((await temp.draft('plain')).warnings).toEqual([expect.stringContaining('"requires"')])
})

test('C10: venv.cache_dir is a folder in the cache, and nowhere else', async () => {
  script('near', ['wheel'], { venv: { cache_dir: '~/.cache/kiwi/venvs' } })
  expect(await output('near')).toBe('part wheel\n')
  expect(readdirSync(temp.cache)).toContain('venvs')
  for (const cache_dir of ['/tmp', '~/.cache/kiwi/../x', '~', 'x']) {
    script('far', ['wheel'], { venv: { cache_dir } })
    await expect(temp.draft('far')).rejects.toMatchObject({ code: 'INVALID_CONFIG' })
  }
})

test('SUP-02: a tool says nothing of how packages are installed, but how long it may take', async () => {
  for (const environment of [
    { env: { PARTS_INDEX: 'https://evil.example' } },
    { options: {} },
    { builders: [] },
  ]) {
    script('bold', ['wheel'], { environment })
    await expect(temp.plan('bold')).rejects.toMatchObject({
      code: 'INVALID_CONFIG',
      message: expect.stringContaining('is for its runtime to say'),
    })
  }
})

test.each([
  [{ file: '../x' }, '"environment.file" must be the name of a file'],
  [{ command: '/bin/sh' }, '"environment.command" must begin with {environment}/'],
  [{ command: '{environment}/../x' }, '"environment.command" must begin with {environment}/'],
  [{ builders: [] }, '"environment.builders" must have at least 1 entries'],
  [{ comand: 'red' }, '"environment" has no key "comand": "command" is probably meant'],
])('an environment of %j is INVALID_CONFIG', async (environment, reason) => {
  temp.tool('odd_runtime', makePartStore(temp.folder, environment).runtime)
  temp.tool('odd', { tool_type: 'script', executor: 'odd_runtime' }, { 'main.sh': SHOW })
  await expect(temp.plan('odd')).rejects.toMatchObject({
    code: 'INVALID_CONFIG',
    message: `Cannot run "odd": ${reason}`,
  })
})

test('C10: beyond the bound environments go that were not used for a month', async () => {
  script('cart', ['wheel'])
  const root = join(temp.cache, 'environments/part_runtime')
  for (let n = 0; n < LIMITS.environments; n++) {
    mkdirSync(join(root, `old${n}`), { recursive: true })
    const days = n < 3 ? LIMITS.environmentDays + 10 - n : 5
    const at = Date.now() / 1000 - days * 24 * 60 * 60
    utimesSync(join(root, `old${n}`), at, at)
  }
  await output('cart')
  await expect.poll(() => readdirSync(root).length, WAIT).toBe(LIMITS.environments)
  expect(existsSync(join(root, 'old0'))).toBe(false)
  expect(existsSync(join(root, 'old1'))).toBe(true)
})
