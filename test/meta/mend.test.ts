// What cannot be read is mended by the call that changes things: whoever finds it by search sends its whole text.
import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Reply } from '../../src/shared/reply.ts'
import { field } from '../fixtures/field.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { openTempKiwi, resultsOf } from '../temp-kiwi.ts'

let temp: TempKiwi
beforeEach(async () => {
  temp = await openTempKiwi()
})
afterEach(() => temp.close())

const execute = (item_type: string, action: string, item_id: string, more: object = {}): Promise<Reply> =>
  temp.call('execute', { item_type, action, item_id, ...more })
const update = (type: string, id: string, parameters: object, more: object = {}): Promise<Reply> =>
  execute(type, 'update', id, { parameters, ...more })
const directive = (id: string, text: string, version = ' version="1.3.0"'): string =>
  `\`\`\`xml\n<directive name="${id}"${version}><metadata><description>ships it</description></metadata><process><step name="a">${text}</step></process></directive>\n\`\`\`\n`

describe('S8, D1: a document that cannot be read', () => {
  test('S8, D1: is mended by update with its whole text, where it lies', async () => {
    const path = temp.write('directives/web/ship.md', directive('ship', 'build & ship'))
    expect((await execute('directive', 'run', 'ship')).error?.code).toBe('PARSE_ERROR')
    expect(resultsOf(await temp.search('ship'))[0]).toMatchObject({ id: 'ship' })
    expect(await update('directive', 'ship', { content: directive('ship', 'build and ship') })).toMatchObject(
      {
        status: 'success',
        data: { tool_id: 'ship', version: '1.3.0', previous_version: null, path, changed: true },
      },
    )
    expect(readFileSync(path, 'utf8')).toContain('build and ship')
    expect(await execute('directive', 'run', 'ship')).toMatchObject({ status: 'ready', error: null })
    const signature = field((await temp.load('ship', { item_type: 'directive' })).data, 'signature', 'state')
    expect(signature).toBe('signed')
    const again = await update('directive', 'ship', { content: directive('ship', 'ship', '') })
    expect(again).toMatchObject({ data: { version: '1.3.1', previous_version: '1.3.0' } })
  })

  test('S8, D16: of knowledge also the keys beside its text count, and a version that is asked for', async () => {
    const path = temp.write('knowledge/note.md', '---\ntitle: a: b\n---\nold\n')
    const wish = { content: 'The text.\n', title: 'A: b', tags: ['x'] }
    expect(await update('knowledge', 'note', wish, { version: '2.0.0' })).toMatchObject({
      data: { tool_id: 'note', version: '2.0.0' },
    })
    expect(readFileSync(path, 'utf8')).toMatch(
      /---\ntitle: "A: b"\ntags:\n {2}- x\nversion: 2.0.0\n---\nThe text.\n$/,
    )
    temp.write('knowledge/large.md', `# Large\n${'word '.repeat(60_000)}`)
    expect((await temp.load('large', { item_type: 'knowledge' })).error?.code).toBe('MESSAGE_TOO_LARGE')
    expect(await update('knowledge', 'large', { content: '# Small\n' })).toMatchObject({
      data: { version: '1.0.0' },
    })
  })

  test('S8: a dry run says where it would be written, and writes nothing', async () => {
    const text = directive('ship', 'a < b')
    const path = temp.write('directives/ship.md', text)
    const rehearsed = await update(
      'directive',
      'ship',
      { content: directive('ship', 'b') },
      { dry_run: true },
    )
    expect(rehearsed).toMatchObject({ status: 'dry_run', data: { would_write: path, version: '1.3.0' } })
    expect(readFileSync(path, 'utf8')).toBe(text)
  })

  test.each([
    ['a part of it', { manifest: { description: 'd' } }, 'PARSE_ERROR'],
    ['a text that cannot be read either', { content: directive('ship', 'a & b') }, 'PARSE_ERROR'],
    ['a text of another name', { content: directive('other', 'a') }, 'INVALID_PARAMETERS'],
    [
      'a change of what somebody read',
      { content: directive('ship', 'a'), expected_hash: 'x' },
      'PARSE_ERROR',
    ],
    ['another space', { content: directive('ship', 'a'), location: 'user' }, 'NOT_FOUND'],
  ])('S8: is not mended by %s', async (_, parameters, code) => {
    const text = directive('ship', 'build & ship')
    const path = temp.write('directives/ship.md', text)
    expect((await update('directive', 'ship', parameters)).error?.code).toBe(code)
    expect(readFileSync(path, 'utf8')).toBe(text)
  })

  test('N17: is not mended by an agent in a project that nobody has trusted', async () => {
    const strange = await openTempKiwi({ isTrusted: false })
    strange.write('directives/ship.md', directive('ship', '&'))
    const parameters = { content: directive('ship', 'a') }
    const wish = { item_type: 'directive', action: 'update', item_id: 'ship', parameters }
    expect((await strange.call('execute', wish)).error).toMatchObject({ code: 'UNTRUSTED' })
    await strange.close()
  })

  test('D10: is not mended by one whose tools go beyond its permissions', async () => {
    temp.write('directives/ship.md', directive('ship', '&'))
    const wide = directive('ship', 'a').replace(
      '</metadata>',
      '<tools><shell commands="rm"/></tools></metadata>',
    )
    expect((await update('directive', 'ship', { content: wide })).error?.code).toBe('VALIDATION_FAILED')
  })

  test('S8: what is made under its name says that it is to be mended; a tool or a skill is deleted first', async () => {
    temp.write('directives/ship.md', directive('ship', '&'))
    temp.write('tools/broken.yaml', 'a: [')
    const skill = temp.write('directives/forms/SKILL.md', '---\nname: [\n---\n')
    const made = await execute('directive', 'create', 'ship', {
      parameters: { content: directive('ship', 'a') },
    })
    expect(made.error).toMatchObject({
      code: 'CONFLICT',
      hint: 'It cannot be read: send its whole text with update, or choose another id',
    })
    expect((await update('tool', 'broken', { content: '# x' })).error?.code).toBe('PARSE_ERROR')
    expect((await update('directive', 'forms', { content: '# x' })).error?.code).toBe('PARSE_ERROR')
    expect(readFileSync(skill, 'utf8')).toBe('---\nname: [\n---\n')
  })
})
