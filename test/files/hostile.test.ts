import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { field } from '../fixtures/field.ts'
import type { FilesServer } from '../fixtures/files-server.ts'
import { openFilesServer } from '../fixtures/files-server.ts'
import { openTempKiwi } from '../temp-kiwi.ts'

let root: string
let server: FilesServer
const socket = createServer()
beforeAll(async () => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'kiwi-hostile-')))
  server = openFilesServer()
  execFileSync('mkfifo', [join(root, 'pipe')])
  writeFileSync(join(root, 'sparse'), '')
  truncateSync(join(root, 'sparse'), 10 * 1024 ** 3)
  await new Promise<void>((resolve) => {
    socket.listen(join(root, 'socket'), resolve)
  })
})
afterAll(() => {
  server.close()
  socket.close()
  rmSync(root, { recursive: true })
})

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

describe('FS-07: only regular files are read, and never more than was asked for', () => {
  test.each([
    ['pipe', 'no regular file'],
    ['socket', 'no regular file'],
    ['/dev/zero', 'no regular file'],
    ['/dev/tty', 'no regular file'],
    [`/proc/${process.pid}/environ`, 'what the system makes up'],
    [`/proc/${process.pid}/mem`, 'what the system makes up'],
    ['/sys/kernel/notes', 'what the system makes up'],
  ])('FS-07: %s is refused, by reading, writing and searching', async (name, reason) => {
    const path = name.startsWith('/') ? name : join(root, name)
    expect((await server.call('read', { path })).refusal).toContain(reason)
    expect((await server.call('write', { path, content: 'x' })).refusal).toContain(reason)
    const searched = await server.call('search', { path, pattern: 'PATH' })
    expect(field(searched.output, 'matches') ?? []).toEqual([])
  })

  test('FS-07: of 10 GB only the part that was asked for', async () => {
    const path = join(root, 'sparse')
    expect(await server.call('read', { path })).toMatchObject({ code: 'MESSAGE_TOO_LARGE' })
    const part = await server.call('read', { path, offset: 9 * 1024 ** 3, limit: 4, encoding: 'base64' })
    expect(part.output).toMatchObject({ content: 'AAAAAA==', size: 10 * 1024 ** 3 })
    expect(await server.call('search', { path, pattern: 'x' })).toMatchObject({ output: { matches: [] } })
  })

  test('FS-07: through Kiwi the variables of its own process stay closed', async () => {
    const temp = await openTempKiwi({ environment: { CANARY: 'canary-0815' } })
    try {
      for (const path of [
        '/proc/self/environ',
        `/proc/${process.pid}/environ`,
        join('/proc/self', 'root', 'proc/self/environ'),
      ]) {
        const reply = await temp.run('filesystem.read', { path })
        expect(reply).toMatchObject({ status: 'error', error: { code: 'TOOL_FAILED' } })
      }
    } finally {
      await temp.close()
    }
  })
})

describe('FS-03: the server never works by a link', () => {
  test('FS-03: neither at the end of a path nor on the way', async () => {
    mkdirSync(join(root, 'links/outside/inner'), { recursive: true })
    for (const name of ['file', 'inner/file']) writeFileSync(join(root, 'links/outside', name), 'secret')
    symlinkSync('outside', join(root, 'links/way'))
    symlinkSync('outside/file', join(root, 'links/end'))
    for (const path of ['links/way/file', 'links/way/inner/file', 'links/end']) {
      for (const tool of ['read', 'write', 'list', 'search']) {
        const said = await server.call(tool, { path: join(root, path), content: 'x', pattern: 'secret' })
        expect(said.refusal ?? field(said.output, 'matches'), `${tool} ${path}`).not.toContain('secret')
        expect(said.refusal === null ? field(said.output, 'matches') : said.refusal).toBeDefined()
      }
    }
    for (const path of ['links/way/new', 'links/way/inner/new'])
      expect(await server.call('create', { path: join(root, path) })).toMatchObject({ output: undefined })
    expect(readdirSync(join(root, 'links/outside'), { recursive: true })).toEqual([
      'file',
      'inner',
      'inner/file',
    ])
    for (const name of ['file', 'inner/file'])
      expect(readFileSync(join(root, 'links/outside', name), 'utf8')).toBe('secret')
  })

  test('FS-03: a path that nobody has judged is not used, and nobody puts a tool of their own on the server', async () => {
    const unjudged = await server.call('read', { path: 'x', to: 1 })
    expect(unjudged.refusal).toBe('Cannot read "x": nobody has judged the path')
    const temp = await openTempKiwi()
    try {
      const manifest = { tool_type: 'mcp_tool', executor: 'filesystem', description: 'd' }
      const sly = { config: { mcp_tool_name: 'write' }, paths: { read: ['{path}'] }, input_schema: {} }
      await temp.create('sly', { ...manifest, ...sly })
      expect(await temp.run('sly', { path: 'x', content: 'y' })).toMatchObject({
        error: {
          code: 'UNKNOWN_ACTION',
          hint: 'Use the tools of "filesystem" that are shipped: others cannot be put on it',
        },
      })
    } finally {
      await temp.close()
    }
  })
})

test.skipIf(!existsSync('/usr/bin/bwrap'))(
  'FS-03: where the system names no descriptors, a path is compared before and after',
  async () => {
    const bare = openFilesServer([
      '/usr/bin/bwrap',
      '--bind',
      '/',
      '/',
      '--tmpfs',
      '/proc',
      '--die-with-parent',
    ])
    try {
      mkdirSync(join(root, 'bare/real'), { recursive: true })
      symlinkSync('real', join(root, 'bare/way'))
      const path = join(root, 'bare/real/deep/file')
      expect(await bare.call('write', { path, content: 'ours' })).toMatchObject({ refusal: null })
      expect(await bare.call('read', { path })).toMatchObject({ output: { content: 'ours' } })
      const way = join(root, 'bare/way/deep/file')
      expect(await bare.call('read', { path: way })).toMatchObject({ code: 'CONFLICT' })
      expect(await bare.call('write', { path: way, content: 'x' })).toMatchObject({ code: 'CONFLICT' })
      const folder = join(root, 'bare/real/deep')
      expect(await bare.call('list', { path: folder })).toMatchObject({
        output: { entries: [{ path: 'file' }] },
      })
      expect(await bare.call('delete', { path: folder, recursive: true })).toMatchObject({
        output: { deleted: 2 },
      })
    } finally {
      bare.close()
    }
  },
)

test('AUD-04: when the journal cannot be written, files are read and not changed', async () => {
  writeFileSync(join(root, 'a-file'), '')
  const blocked = await openTempKiwi({ environment: { KIWI_STORE: join(root, 'a-file/kiwi.db') } })
  try {
    const path = join(blocked.project, 'x')
    writeFileSync(path, 'one')
    for (const tool of ['read', 'list', 'stat', 'search']) {
      const parameters = {
        path: tool === 'list' ? '.' : 'x',
        ...(tool === 'search' ? { pattern: 'one' } : {}),
      }
      expect(await blocked.run(`filesystem.${tool}`, parameters), tool).toMatchObject({ status: 'success' })
    }
    for (const [tool, more] of [
      ['write', { content: 'two' }],
      ['delete', {}],
      ['move', { to: 'y' }],
    ] as const) {
      expect(await blocked.run(`filesystem.${tool}`, { path: 'x', ...more }), tool).toMatchObject({
        error: { code: 'AUDIT_UNAVAILABLE' },
      })
    }
    expect(await blocked.run('filesystem.create', { path: 'z' })).toMatchObject({
      error: { code: 'AUDIT_UNAVAILABLE' },
    })
    expect([readFileSync(path, 'utf8'), existsSync(join(blocked.project, 'z'))]).toEqual(['one', false])
  } finally {
    await blocked.close()
  }
})

describe('H4: what was looked at is what is changed', () => {
  const at = (name: string): string => join(root, name)
  const CHANGED = 'it changed since it was looked at'

  test('H4: a write goes on when the file is still the same, and is refused when it is not', async () => {
    writeFileSync(at('doc'), 'one')
    expect(
      await server.call('write', { path: at('doc'), content: 'two' }, { [at('doc')]: sha256('one') }),
    ).toMatchObject({ refusal: null })
    const late = await server.call(
      'write',
      { path: at('doc'), content: 'three' },
      { [at('doc')]: sha256('one') },
    )
    expect(late).toMatchObject({ code: 'CONFLICT', refusal: `Cannot write "${at('doc')}": ${CHANGED}` })
    expect(readFileSync(at('doc'), 'utf8')).toBe('two')
  })

  test('H4: the same for what was not there, for deleting and for both ends of a move', async () => {
    writeFileSync(at('there'), 'new')
    for (const [tool, more, seen] of [
      ['write', { content: 'x' }, { [at('there')]: null }],
      ['delete', {}, { [at('there')]: sha256('old') }],
      ['move', { to: at('other') }, { [at('there')]: sha256('old') }],
      ['move', { to: at('other') }, { [at('other')]: sha256('was there') }],
    ] as const) {
      expect(await server.call(tool, { path: at('there'), ...more }, seen), tool).toMatchObject({
        code: 'CONFLICT',
      })
    }
    expect(readFileSync(at('there'), 'utf8')).toBe('new')
    const ready = { [at('there')]: sha256('new'), [at('other')]: null }
    expect(await server.call('move', { path: at('there'), to: at('other') }, ready)).toMatchObject({
      refusal: null,
    })
    expect(
      await server.call('delete', { path: at('other') }, { [at('other')]: sha256('new') }),
    ).toMatchObject({ refusal: null })
  })

  test('H4: a folder goes only when every file in it is what was looked at, and none has come since', async () => {
    mkdirSync(at('full/deep'), { recursive: true })
    writeFileSync(at('full/a'), 'a')
    writeFileSync(at('full/deep/b'), 'b')
    const seen = { [at('full/a')]: sha256('a'), [at('full/deep/b')]: sha256('b') }
    const clear = { path: at('full'), recursive: true }
    writeFileSync(at('full/deep/b'), 'newer')
    expect(await server.call('delete', clear, seen)).toMatchObject({ code: 'CONFLICT' })
    writeFileSync(at('full/deep/b'), 'b')
    writeFileSync(at('full/deep/c'), 'came since')
    expect(await server.call('delete', clear, seen)).toMatchObject({ code: 'CONFLICT' })
    expect(readdirSync(at('full'))).toEqual(['a', 'deep'])
    rmSync(at('full/deep/c'))
    expect(await server.call('delete', clear, seen)).toMatchObject({ output: { deleted: 4 } })
  })

  test('H4: no half-written file is left when a write fails', async () => {
    mkdirSync(at('shut'), { mode: 0o555 })
    const said = await server.call('write', { path: at('shut/x'), content: 'x' })
    if (process.getuid?.() !== 0) expect(said.refusal).toContain('the system does not allow it')
    await server.call('write', { path: at('pipe'), content: 'x' })
    expect(readdirSync(root).filter((name) => name.endsWith('.tmp'))).toEqual([])
  })
})
