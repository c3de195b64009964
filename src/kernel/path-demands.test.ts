import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { shippedItem } from '../../test/fixtures/sample-item.ts'
import type { JsonObject } from '../shared/json.ts'
import type { Manifest } from '../spaces/manifest.ts'
import type { PathDemands } from './path-demands.ts'
import { pathDemands } from './path-demands.ts'

let root: string
let project: string
const manifests = new Map<string, Manifest>()
const TOOLS = ['read', 'write', 'create', 'delete', 'move', 'list', 'stat', 'search']

beforeAll(async () => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'kiwi-paths-')))
  project = join(root, 'project')
  for (const folder of ['project/src/a.b..c', 'project/full/inner', 'outside'])
    mkdirSync(join(root, folder), { recursive: true })
  for (const file of [
    'project/src/a.b..c/file.txt',
    'project/..hidden',
    'project/full/inner/x',
    'outside/secret',
  ]) {
    writeFileSync(join(root, file), 'x')
  }
  symlinkSync(join(root, 'outside'), join(project, 'out'))
  symlinkSync('src', join(project, 'in'))
  symlinkSync('l1', join(project, 'l0'))
  symlinkSync('l2', join(project, 'l1'))
  symlinkSync('l3', join(project, 'l2'))
  symlinkSync('l4', join(project, 'l3'))
  symlinkSync('../outside/secret', join(project, 'l4'))
  symlinkSync('nowhere', join(project, 'dangling'))
  symlinkSync('circle', join(project, 'circle'))
  symlinkSync(project, join(root, 'alias'))
  for (const name of TOOLS) manifests.set(name, (await shippedItem(`filesystem.${name}`)).manifest)
})
afterAll(() => rmSync(root, { recursive: true }))

const manifestOf = (tool: string): Manifest => {
  const manifest = manifests.get(tool)
  if (manifest === undefined) throw new TypeError(tool)
  return manifest
}
const judged = (tool: string, parameters: JsonObject, projectPath: string | null = project): PathDemands => {
  const found = pathDemands(manifestOf(tool), { parameters, projectPath })
  if (found === null) throw new TypeError(`${tool} declares no paths`)
  return found
}
/** As a layer judges that allows the project, without `kept`, and nothing else. */
const verdict = (tool: string, parameters: JsonObject, kept?: string): 'allow' | 'deny' =>
  judged(tool, parameters).demands.every(
    (demand) => 'path' in demand && isBelow(demand.path, project) && demand.path !== kept,
  )
    ? 'allow'
    : 'deny'
const isBelow = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`)
const pathsOf = ({ demands }: PathDemands, op: string): readonly string[] =>
  demands.flatMap((demand) => (demand.op === op && 'path' in demand ? [demand.path] : []))

describe('FS-01: a path is judged by where it leads, not by its text', () => {
  test.each([
    '../../etc/passwd',
    '../outside/secret',
    '/etc/passwd',
    '/home/../etc',
    'a//b/../../..',
    'src/../../outside',
    '..',
    '/',
    '../project-beside',
    '../outside/secret.',
    '../outside/secret ',
  ])('FS-01: %j is outside, for every tool', (path) => {
    for (const tool of TOOLS.filter((each) => each !== 'delete' && each !== 'move')) {
      expect(verdict(tool, { path, pattern: 'x', content: '' }), tool).toBe('deny')
    }
  })

  test.each(['src', './src/', 'src//a.b..c/../x', 'new/deep/file', '.'])('FS-01: %j is inside', (path) => {
    expect(verdict('read', { path })).toBe('allow')
  })

  test('FS-01: whatever is written, what is judged has no steps up in it, and is what the server is given', () => {
    const part = fc.constantFrom('..', '.', '', 'src', 'out', 'in', 'a b', 'x', '..hidden', 'l0')
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 8 }), (parts) => {
        const path = parts.join('/') || '.'
        const found = judged('read', { path })
        const real = found.real.get(path) ?? ''
        expect(pathsOf(found, 'read')).toContain(real)
        expect(real.split('/')).not.toContain('..')
        expect(dirname(join(real, 'x'))).toBe(real)
        if (!real.startsWith(`${project}/`) && real !== project)
          expect(verdict('read', { path })).toBe('deny')
      }),
    )
  })

  test.each(['a\0b', 'a\nb', 'a\u001Bb', 'a\u007F', 'a\u0085b'])(
    'FS-01: %j holds a control character',
    (path) => {
      expect(() => judged('read', { path })).toThrow(expect.objectContaining({ code: 'INVALID_PARAMETERS' }))
    },
  )

  test.each(['~', '~/.ssh/id', '~root/x', 'file:///etc/passwd', 'https://a.b/c', 'C:\\x', '\\\\host\\share'])(
    'FS-01: %j is a form of elsewhere, and no name',
    (path) => {
      for (const tool of ['read', 'write'])
        expect(() => judged(tool, { path })).toThrow(expect.objectContaining({ code: 'INVALID_PARAMETERS' }))
    },
  )

  test.each(['./~', 'a~', 'src/~/x', '~$doc.odt', 'a:b', 'a\\b', '%2e%2e/x', './file:'])(
    'BEN-01: %j is a name like any other',
    (path) => {
      expect(verdict('read', { path })).toBe('allow')
    },
  )

  test('FS-01: a relative path needs a project', () => {
    expect(() => judged('read', { path: 'a' }, null)).toThrow(
      expect.objectContaining({ code: 'PROJECT_PATH_REQUIRED' }),
    )
    expect(pathsOf(judged('read', { path: '/etc/hosts' }, null), 'read')).toContain('/etc/hosts')
  })
})

describe('BEN-01: names that only look like steps up', () => {
  test.each(['src/a.b..c/file.txt', '..hidden', 'src/...', 'a..'])('BEN-01: %j is allowed', (path) => {
    expect(verdict('read', { path })).toBe('allow')
  })
})

describe('FS-03: links', () => {
  test.each(['out/secret', 'out', 'l0', 'out/new/file', 'in/../out/secret'])(
    'FS-03: %j leads outside and is denied',
    (path) => {
      expect(verdict('read', { path })).toBe('deny')
      expect(verdict('write', { path, content: '' })).toBe('deny')
    },
  )

  test('FS-03: what lies in a linked folder is moved and deleted where it really lies', () => {
    expect(verdict('delete', { path: 'out/secret' })).toBe('deny')
    expect(verdict('move', { path: 'src', to: 'out/src' })).toBe('deny')
  })

  test('FS-03: both the text and where it leads are judged', () => {
    const found = judged('read', { path: 'in/x' })
    expect(pathsOf(found, 'read')).toEqual([join(project, 'src/x'), join(project, 'in/x')])
    expect(verdict('read', { path: join(root, 'alias/src') })).toBe('deny')
  })

  test('FS-03: a project that is reached by a link is called by its own name', () => {
    const alias = join(root, 'alias')
    expect(pathsOf(judged('read', { path: 'src' }, alias), 'read')).toEqual([join(project, 'src')])
    expect(pathsOf(judged('read', { path: join(alias, 'src') }, alias), 'read')).toEqual([
      join(project, 'src'),
    ])
  })

  test('FS-03: a circle of links is refused, and a link to nowhere is its own name', () => {
    expect(() => judged('read', { path: 'circle' })).toThrow(
      expect.objectContaining({ code: 'INVALID_PARAMETERS' }),
    )
    expect(pathsOf(judged('write', { path: 'dangling', content: '' }), 'write')).toEqual([
      join(project, 'dangling'),
    ])
  })

  test('FS-03: to delete a link is to delete the link', () => {
    expect(pathsOf(judged('delete', { path: 'out' }), 'write')).toEqual([join(project, 'out')])
  })
})

describe('FS-09, D9: each tool asks for its own right, on both of its paths', () => {
  test.each([
    ['read', 'read'],
    ['list', 'read'],
    ['stat', 'read'],
    ['search', 'read'],
    ['write', 'write'],
    ['create', 'write'],
    ['delete', 'write'],
    ['move', 'write'],
  ])('FS-09, D9: %s asks for %s and for nothing else', (tool, op) => {
    const { demands } = judged(tool, { path: 'src/x', to: 'src/y', pattern: 'p', content: 'c' })
    const paths = tool === 'move' ? ['src/x', 'src/y'] : ['src/x']
    expect(demands).toEqual(paths.map((path) => ({ op, path: join(project, path), isChosen: true })))
  })

  test('FS-09: a move is denied when either end is outside', () => {
    expect(verdict('move', { path: 'src/x', to: '../outside/x' })).toBe('deny')
    expect(verdict('move', { path: '../outside/secret', to: 'src/x' })).toBe('deny')
    expect(verdict('move', { path: 'src', to: 'source' })).toBe('allow')
    expect(verdict('list', { path: '../outside' })).toBe('deny')
  })

  test.each(['.', '..', '/', 'src/..'])('FS-09: the project is not deleted or moved by "%s"', (path) => {
    for (const tool of ['delete', 'move']) {
      expect(() => judged(tool, { path, to: 'x', recursive: true })).toThrow(
        expect.objectContaining({ code: 'INVALID_PARAMETERS' }),
      )
    }
  })

  test('FS-09: a folder that goes takes along what is below, and each of that is judged', () => {
    const found = judged('delete', { path: 'full', recursive: true })
    expect(pathsOf(found, 'write').toSorted()).toEqual(
      ['full', 'full/inner', 'full/inner/x'].map((path) => join(project, path)),
    )
    const kept = join(project, 'full/inner/x')
    expect(verdict('delete', { path: 'full', recursive: true }, kept)).toBe('deny')
    expect(verdict('move', { path: 'full', to: 'other' }, kept)).toBe('deny')
  })
})

describe('what is shown before', () => {
  test('of a write: the path and the text, for a person to compare', () => {
    const found = judged('write', { path: 'in/x', content: 'grüße' })
    expect(found.change).toEqual({ path: join(project, 'src/x'), content: 'grüße' })
    expect(found.preview()).toEqual({ would_write: [{ path: join(project, 'src/x'), bytes: 7 }] })
  })

  test('of bytes: only the path', () => {
    const found = judged('create', { path: 'x', content: 'AAAA', encoding: 'base64' })
    expect(found.change).toBeUndefined()
    expect(found.preview()).toEqual({ would_write: [{ path: join(project, 'x') }] })
  })

  test('of a tool without paths: nothing', async () => {
    expect(
      pathDemands((await shippedItem('hello_bash')).manifest, { parameters: {}, projectPath: project }),
    ).toBeNull()
  })
})

test('what is found at places that may not be read is left out', () => {
  const found = judged('list', { path: '.' })
  const data = { output: { entries: [{ path: 'src' }, { path: 'keys/k' }, 'odd'], truncated: false } }
  expect(found.found(data, (path) => !path.startsWith(join(project, 'keys')))).toEqual({
    output: { entries: [{ path: 'src' }], truncated: false },
  })
})

test('a template that knows no more than the project is refused', () => {
  const manifest = { ...manifestOf('read'), paths: { read: ['${HOME}/x'], write: [] } }
  expect(() => pathDemands(manifest, { parameters: {}, projectPath: project })).toThrow(
    expect.objectContaining({ code: 'INVALID_MANIFEST' }),
  )
  const own = { ...manifest, paths: { read: ['${PROJECT_PATH}/x'], write: [] } }
  const real = pathDemands(own, { parameters: {}, projectPath: project })?.real
  expect([...(real?.values() ?? [])]).toEqual([join(project, 'x')])
})
