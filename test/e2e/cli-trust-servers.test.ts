import { afterEach, beforeEach, expect, test } from 'vitest'
import { atTerminal } from '../fixtures/at-terminal.ts'
import type { Place } from '../fixtures/place.ts'
import { makePlace } from '../fixtures/place.ts'
import { shiftingServer, writeServerFile, writeServers } from '../fixtures/shifting-server.ts'
import { kiwi } from './temp-server.ts'

let place: Place
beforeEach(() => {
  place = makePlace()
})
afterEach(() => place.remove())

const echo = {
  name: 'echo',
  description: 'Says it again',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
}
const changed = { ...echo, description: 'Says it\u200B again' }
const QUESTION = 'Let agents see and call this? [y/N]'

test(
  'X5: a person is shown the difference with hidden characters written out, and says yes or no',
  { timeout: 120_000 },
  async () => {
    const server = shiftingServer(place, 'acme', { tools: [echo] })
    writeServerFile(place, 'acme', server)
    expect(await kiwi(place, ['run', 'acme.echo', 'text=a'])).toMatchObject({ code: 0, stdout: 'a\n' })
    expect(await kiwi(place, ['trust', 'acme'])).toMatchObject({
      code: 0,
      stdout: 'Nothing of "acme" waits\n',
    })
    server.say({ tools: [changed] })
    const refused = await kiwi(place, ['run', 'acme.echo', 'text=b'])
    expect(refused).toMatchObject({ code: 4, stdout: '' })
    expect(refused.stderr).toContain(
      'QUARANTINED Cannot call "acme.echo": its description changed since it was let pass\n' +
        '  Ask the person to look at it: kiwi trust acme.echo',
    )
    const no = await atTerminal(place, ['trust', 'acme.echo'], [QUESTION, 'n\r'])
    expect([no.code, no.shown]).toEqual([4, expect.stringContaining('Nothing was changed')])
    for (const part of [
      'echo (changed)',
      'found: hidden characters U+200B in "description"',
      '-  "description": "Says it again",',
      String.raw`+  "description": "Says it\u{200b} again",`,
      `args: ${server.entry.args.join(' ')}`,
    ])
      expect(no.shown).toContain(part)
    expect((await kiwi(place, ['run', 'acme.echo', 'text=c'])).code).toBe(4)
    const yes = await atTerminal(place, ['trust', 'acme.echo'], [QUESTION, 'y\r'])
    expect([yes.code, yes.shown]).toEqual([0, expect.stringContaining('Trusted: echo')])
    expect(await kiwi(place, ['run', 'acme.echo', 'text=d'])).toMatchObject({ code: 0, stdout: 'd\n' })
  },
)

test(
  'X5: without a terminal nobody was asked; --json only looks, --yes is a yes to what is there',
  { timeout: 120_000 },
  async () => {
    const server = shiftingServer(place, 'acme', { tools: [echo] })
    writeServerFile(place, 'acme', server)
    await kiwi(place, ['run', 'acme.echo', 'text=a'])
    server.say({ tools: [changed] })
    await kiwi(place, ['run', 'acme.echo', 'text=b'])
    expect(await kiwi(place, ['trust', 'acme'], 'y\n')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('CONFIRM_REQUIRED'),
    })
    const looked = await kiwi(place, ['trust', 'acme', '--json'])
    expect([looked.code, JSON.parse(looked.stdout)]).toMatchObject([
      0,
      { data: { tools: [{ name: 'echo', reason: 'changed', diff: expect.stringContaining('@@') }] } },
    ])
    expect((await kiwi(place, ['run', 'acme.echo', 'text=b'])).code).toBe(4)
    expect(await kiwi(place, ['trust', 'acme', '--yes'])).toMatchObject({
      code: 0,
      stdout: 'Trusted: echo\n',
    })
    expect((await kiwi(place, ['run', 'acme.echo', 'text=c'])).code).toBe(0)
    expect((await kiwi(place, ['trust', 'nobody'])).stderr).toContain('NOT_FOUND')
    expect((await kiwi(place, ['trust', 'acme', '--revoke'])).stderr).toContain('INVALID_PARAMETERS')
  },
)

test(
  'N17 POI-14: what a project starts is shown whole before it is trusted again',
  { timeout: 120_000 },
  async () => {
    const server = shiftingServer(place, 'acme', { tools: [echo] })
    writeServers(place, 'project', { acme: server.entry })
    await kiwi(place, ['trust', '--yes'])
    expect((await kiwi(place, ['run', 'acme.echo', 'text=a'])).code).toBe(0)
    const long = `--${'x'.repeat(300)}`
    const { command, args } = server.entry
    writeServers(place, 'project', { acme: { command, args: [...args, long, 'a b'], env: { TOKEN: 'v' } } })
    expect((await kiwi(place, ['run', 'acme.echo', 'text=b'])).stderr).toContain('UNTRUSTED')
    const { shown } = await atTerminal(place, ['trust', 'acme'], [QUESTION, 'y\r'])
    const plain = shown.replaceAll(/\s+/g, ' ')
    expect(plain).toContain('It is not as it was trusted: env.TOKEN, args')
    expect(plain).toContain('env.TOKEN (changed): v')
    expect(plain).toContain(`args (changed): ${args.join(' ')} ${long} "a b"`)
    expect((await kiwi(place, ['run', 'acme.echo', 'text=c'])).code).toBe(0)
  },
)
