import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import type { Place } from '../test/fixtures/place.ts'
import { makePlace } from '../test/fixtures/place.ts'
import type { Spoken } from './contestants.ts'
import { EVERYTHING, KIWI, spokenTo, writeServers } from './contestants.ts'
import type { Figure } from './measure.ts'
import { interleave, ROOT, round, summarize, timed } from './measure.ts'

interface Entry {
  readonly command: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

const Package = z.object({ bin: z.union([z.string(), z.record(z.string(), z.string())]) })

/** Servers that people have, with what each needs to start. */
const SERVERS: Readonly<Record<string, Entry>> = {
  everything: program('@modelcontextprotocol/server-everything'),
  files: program('@modelcontextprotocol/server-filesystem', [tmpdir()]),
  memory: program('@modelcontextprotocol/server-memory'),
  thinking: program('@modelcontextprotocol/server-sequential-thinking'),
  github: program('@modelcontextprotocol/server-github'),
  gitlab: program('@modelcontextprotocol/server-gitlab', [], { GITLAB_PERSONAL_ACCESS_TOKEN: 'none' }),
  notion: program('@notionhq/notion-mcp-server', [], { NOTION_TOKEN: 'none' }),
}
const { everything } = SERVERS
const SEARCH = { name: 'search', arguments: { query: 'mcp:everything echo' } }
const ECHO = {
  name: 'execute',
  arguments: {
    item_type: 'tool',
    action: 'call',
    item_id: 'everything.echo',
    parameters: { message: 'hello' },
  },
}

/** What servers behind Kiwi cost a client: words of its context, the first list, a server that dies. */
export async function servers(place: Place, rounds: number): Promise<readonly Figure[]> {
  return [await context(place), ...(await firstSearch(rounds)), await afterKill(rounds)]
}

async function context(place: Place): Promise<Figure> {
  let bytes = 0
  let tools = 0
  for (const { command, args, env } of Object.values(SERVERS)) {
    const direct = await spokenTo(place, [command, ...args], env)
    const listed = await direct.list()
    bytes += Buffer.byteLength(JSON.stringify(listed))
    tools += listed.length
    await direct.close()
  }
  const kiwi = await spokenTo(writeServers(place, SERVERS), [process.execPath, KIWI])
  const own = Buffer.byteLength(JSON.stringify(await kiwi.list()))
  await kiwi.close()
  return {
    id: 'B5',
    what: `tools/list in front of ${Object.keys(SERVERS).length} real servers`,
    how: 'bytes of the tools as JSON; the tools of all of them, as a client that is connected to each gets them, are the denominator',
    value: round(own / bytes),
    unit: 'x',
    detail: `${own.toLocaleString('en')} bytes (about ${tokens(own)} tokens) against ${bytes.toLocaleString('en')} (about ${tokens(bytes)}) of ${tools} tools`,
    target: null,
  }
}

const tokens = (bytes: number): string => Math.round(bytes / 4).toLocaleString('en')

/** With a new store, and again when that knows what the server has. */
async function firstSearch(rounds: number): Promise<readonly Figure[]> {
  const beside = makePlace()
  const places: Place[] = [beside]
  const again: number[] = []
  const { ours, theirs } = await interleave(
    rounds,
    async () => {
      const place = writeServers(makePlace(), { everything })
      places.push(place)
      const cold = await timed(() => begin(place))
      again.push(await timed(() => begin(place)))
      return cold
    },
    () =>
      timed(async () => {
        const direct = await spokenTo(beside, [process.execPath, EVERYTHING, 'stdio'])
        await direct.list()
        await direct.close()
      }),
  )
  for (const place of places) place.remove()
  const known = summarize(again)
  return [
    {
      id: 'M4',
      what: 'cold list: the first search for a tool of a server that was never asked',
      how: `spawn of Kiwi with a new store, connect, search, close, ${rounds} rounds; spawn of the server itself, connect, tools/list, close is the denominator`,
      value: round(ours.p50 / theirs.p50),
      unit: 'x',
      detail: `p50 ${round(ours.p50)} ms against ${round(theirs.p50)} ms`,
      target: null,
    },
    {
      id: 'M4',
      what: 'the same after a restart, from what the store knows: no server is started',
      how: 'as above',
      value: round(known.p50 / theirs.p50),
      unit: 'x',
      detail: `p50 ${round(known.p50)} ms`,
      target: null,
    },
  ]
}

async function begin(place: Place): Promise<void> {
  const kiwi = await spokenTo(place, [process.execPath, KIWI])
  const found = await kiwi.call(SEARCH)
  if (!found.includes('everything.echo')) throw new Error(`the first search found nothing: ${found}`)
  await kiwi.close()
}

async function afterKill(rounds: number): Promise<Figure> {
  const place = writeServers(makePlace(), { everything })
  const kiwi = await spokenTo(place, [process.execPath, KIWI])
  const times: number[] = []
  try {
    await kiwi.call(ECHO)
    for (let turn = 0; turn < rounds; turn++) {
      process.kill(childOf(kiwi))
      const started = performance.now()
      if (!(await kiwi.call(ECHO)).includes('Echo: hello')) throw new Error('the call was not served')
      times.push(performance.now() - started)
    }
  } finally {
    await kiwi.close()
    place.remove()
  }
  const { p50, p95 } = summarize(times)
  return {
    id: 'B11',
    what: 'SIGKILL of an upstream, to the next call that is served',
    how: `between two calls, ${rounds} times, the call sent at once`,
    value: round(p95),
    unit: 'ms',
    detail: `p95; p50 ${round(p50)} ms; the server itself takes most of it to start`,
    target: { most: 1000 },
  }
}

/** The process of the server, wherever it stands below Kiwi. */
function childOf({ pid }: Pick<Spoken, 'pid'>): number {
  const below = (parent: number): readonly number[] =>
    readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8')
      .split(' ')
      .filter((word) => word !== '')
      .flatMap((word) => [Number(word), ...below(Number(word))])
  const found = below(pid).findLast((one) =>
    readFileSync(`/proc/${one}/cmdline`, 'utf8').includes(EVERYTHING),
  )
  if (found === undefined) throw new Error('the server does not run')
  return found
}

function program(name: string, args: readonly string[] = [], env?: Entry['env']): Entry {
  const at = join(ROOT, 'node_modules', name)
  const { bin } = Package.parse(JSON.parse(readFileSync(join(at, 'package.json'), 'utf8')))
  const file = join(at, typeof bin === 'string' ? bin : (Object.values(bin)[0] ?? ''))
  return { command: process.execPath, args: [file, ...args], ...(env === undefined ? {} : { env }) }
}
