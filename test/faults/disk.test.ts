import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Place } from '../fixtures/place.ts'
import { makePlace } from '../fixtures/place.ts'
import { CLI } from '../e2e/temp-server.ts'

let place: Place
beforeAll(() => {
  place = makePlace()
})
afterAll(() => place.remove())

/** Runs a script that may mount what it likes; nobody else sees it. */
function apart(script: string): { code: number | null; stdout: string; stderr: string } {
  const env = { ...place.env, CLI, NODE: process.execPath }
  const { status, stdout, stderr } = spawnSync('unshare', ['-m', 'sh', '-ec', script], {
    env,
    encoding: 'utf8',
    cwd: place.folder,
  })
  return { code: status, stdout, stderr }
}

const canMount =
  spawnSync('unshare', ['-m', 'sh', '-c', 'mount -t tmpfs tmpfs /mnt'], { stdio: 'ignore' }).status === 0

describe.skipIf(!canMount)('R-04, R-05: a disk that gives out', () => {
  test('a full project disk: a typed answer, nothing half-written, and it goes on when there is room', () => {
    const tool = join(place.folder, 'big')
    mkdirSync(tool)
    writeFileSync(join(tool, 'tool.yaml'), 'tool_id: big\ntool_type: bash\ndescription: big\n')
    writeFileSync(join(tool, 'main.sh'), `#!/bin/bash\n${'#'.repeat(900_000)}`)
    const { code, stdout, stderr } = apart(`
      mount -t tmpfs -o size=1m tmpfs '${place.project}'
      cd '${place.project}'
      head -c 400000 /dev/zero > filler
      "$NODE" "$CLI" create '${tool}' || echo "exit $?"
      find .ai/tools -type f | wc -l
      rm filler
      "$NODE" "$CLI" create '${tool}'
      find .ai/tools -type f | wc -l`)
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining('STORE_FULL') })
    expect(stdout.split('\n').map((line) => line.trim())).toEqual(
      expect.arrayContaining(['exit 6', '0', '2', expect.stringContaining('Created script "big"')]),
    )
  })

  test('S8: a full disk lets no update through in part: what was there stays, and goes on when there is room', () => {
    const tool = join(place.folder, 'grown')
    mkdirSync(tool)
    writeFileSync(join(tool, 'tool.yaml'), 'tool_id: grown\ntool_type: bash\ndescription: small\n')
    writeFileSync(join(tool, 'main.sh'), '#!/bin/bash\necho small')
    const { code, stdout, stderr } = apart(`
      mount -t tmpfs -o size=1m tmpfs '${place.project}'
      cd '${place.project}'
      "$NODE" "$CLI" create '${tool}'
      head -c 400000 /dev/zero > filler
      { echo '#!/bin/bash'; head -c 799988 /dev/zero | tr '\\0' '#'; } > '${tool}/main.sh'
      "$NODE" "$CLI" update grown '${tool}' || echo "exit $?"
      "$NODE" "$CLI" run grown
      rm filler
      "$NODE" "$CLI" update grown '${tool}'
      wc -c < .ai/tools/grown/main.sh
      ls -A .ai/tools`)
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining('STORE_FULL') })
    expect(stdout.split('\n').map((line) => line.trim())).toEqual(
      expect.arrayContaining(['exit 6', 'small', '800000', 'grown']),
    )
  })

  test('S8: a project that cannot be written: a typed answer for each, and nothing is left', () => {
    const { stdout, stderr } = apart(`
      mkdir -p fixed && mount -t tmpfs tmpfs fixed && mkdir -p fixed/.ai/tools/there
      printf 'tool_type: bash\\nversion: 1.0.0\\ndescription: x\\n' > fixed/.ai/tools/there/tool.yaml
      printf '#!/bin/bash\\necho there\\n' > fixed/.ai/tools/there/main.sh
      mount -o remount,ro fixed && cd fixed
      "$NODE" "$CLI" trust --yes
      "$NODE" "$CLI" create '${join(place.folder, 'big')}' || echo "create $?"
      "$NODE" "$CLI" update there --set-version 2.0.0 || echo "update $?"
      "$NODE" "$CLI" publish there --set-version 2.0.0 || echo "publish $?"
      "$NODE" "$CLI" delete there --yes || echo "delete $?"
      "$NODE" "$CLI" publish there
      "$NODE" "$CLI" run there
      find .ai/tools -type f | wc -l`)
    expect(stdout.split('\n').map((line) => line.trim())).toEqual(
      expect.arrayContaining(['create 6', 'update 6', 'publish 6', 'delete 6', 'there', '2']),
    )
    expect(stdout).toContain('Published script "there" 1.0.0')
    expect(stderr.match(/STORE_UNAVAILABLE/g)).toHaveLength(4)
  })

  test('a full disk under the store: nothing runs unrecorded, reading goes on', () => {
    const { stdout, stderr } = apart(`
      mkdir -p full && mount -t tmpfs -o size=1m tmpfs full
      export KIWI_USER_SPACE='${place.folder}/full/user' XDG_CACHE_HOME='${place.folder}/cache'
      cd '${place.project}'
      "$NODE" "$CLI" trust --yes
      head -c 2000000 /dev/zero > '${place.folder}/full/filler' 2>/dev/null || true
      mkdir -p .ai/tools/marks
      printf 'tool_type: bash\\nversion: 1.0.0\\ndescription: x\\n' > .ai/tools/marks/tool.yaml
      echo 'touch marked' > .ai/tools/marks/main.sh
      for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do "$NODE" "$CLI" run marks >/dev/null 2>last || { cat last >&2; break; }; done
      head -c 2000000 /dev/zero > '${place.folder}/full/filler-2' 2>/dev/null || true
      "$NODE" "$CLI" doctor || echo "exit $?"
      "$NODE" "$CLI" search hello`)
    expect(stdout).toMatch(/^fail +store .*takes no records.*KiB are free[^]*^exit 6$/m)
    // Lines for operators are no part of what a person is told.
    expect(stderr).not.toMatch(/^\{"time"/m)
    expect(stderr).toMatch(/AUDIT_UNAVAILABLE|STORE_FULL/)
    expect(stderr).toContain('the disk is full')
    expect(stdout).toContain('hello_bash')
  })

  test('HTTP-02: a full disk at the first start leaves no half a token, and the next start makes a whole one', () => {
    const { stdout, stderr } = apart(`
      mkdir -p token && mount -t tmpfs -o size=1m tmpfs token && mkdir token/user
      export KIWI_USER_SPACE='${place.folder}/token/user' XDG_CACHE_HOME='${place.folder}/cache'
      head -c 2000000 /dev/zero > token/filler 2>/dev/null || true
      "$NODE" "$CLI" serve --port 0 || echo "exit $?"
      ls token/user | wc -l
      rm token/filler
      timeout -s TERM 3 "$NODE" "$CLI" serve --port 0 --json || true
      wc -c < token/user/kiwi.token`)
    expect(stderr).toContain('--no-auth')
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => line.trim()),
    ).toEqual(['exit 6', '0', expect.stringContaining('token_file'), '44'])
  })

  test('a read-only home: a typed answer for what writes, the rest works', () => {
    const { stdout, stderr } = apart(`
      mkdir -p home/user && mount -t tmpfs tmpfs home && mkdir -p home/user && mount -o remount,ro home
      export KIWI_USER_SPACE='${place.folder}/home/user' XDG_CACHE_HOME='${place.folder}/home/cache'
      cd '${place.project}'
      "$NODE" "$CLI" run hello_bash name=Ada
      "$NODE" "$CLI" create '${join(place.folder, 'big')}' || echo "exit $?"`)
    expect(stdout).toContain('Hello, Ada!')
    expect(stdout).toContain('exit 6')
    expect(stderr).toContain('AUDIT_UNAVAILABLE')
    expect(stderr).not.toMatch(/^\{"time"/m)
  })
})
