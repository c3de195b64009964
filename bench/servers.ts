import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import type { Place } from '../test/fixtures/place.ts'
import { makePlace } from '../test/fixtures/place.ts'
import type { Spoken } from './contestants.ts'
import { EVERYTHING, KIWI, spokenTo, writeServers } from './contestants.ts'
import type { Figure } from './measure.ts'
import { interleave, ROOT, round, summarize } from './measure.ts'

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
const BEFORE: typeof SEARCH = { name: 'search', arguments: { query: 'read a file' } }
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

/** Kiwi ran before, its store is there, and the server is new to it; and again when the store knows what the server has. */
async function firstSearch(rounds: number): Promise<readonly Figure[]> {
  const beside = makePlace()
  const places: Place[] = [beside]
  const [first, again]: [number[], number[]] = [[], []]
  const { ours, theirs } = await interleave(
    rounds,
    async () => {
      const [place, fresh] = [makePlace(), writeServers(makePlace(), { everything })]
      places.push(place, fresh)
      await answered(place, BEFORE)
      writeServers(place, { everything })
      const cold = await answered(place, SEARCH)
      again.push(await answered(place, SEARCH))
      first.push(await answered(fresh, SEARCH))
      return cold
    },
    () => toAnswer(beside, [process.execPath, EVERYTHING, 'stdio'], (direct) => direct.list()),
  )
  for (const place of places) place.remove()
  const [known, made] = [summarize(again), summarize(first)]
  return [
    {
      id: 'M4',
      what: 'cold list: the first search for a tool of a server that was never asked',
      how: `spawn of Kiwi, connect, to the answer of the search, ${rounds} rounds; spawn of the server itself, connect, to the answer of tools/list is the denominator`,
      value: round(ours.p50 / theirs.p50),
      unit: 'x',
      detail: `p50 ${round(ours.p50)} ms against ${round(theirs.p50)} ms; ${round(made.p50)} ms when Kiwi itself has never run and makes its store`,
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

async function answered(place: Place, search: typeof SEARCH): Promise<number> {
  return toAnswer(place, [process.execPath, KIWI], async (kiwi) => {
    const found = await kiwi.call(search)
    if (search === SEARCH && !found.includes('everything.echo')) throw new Error(`nothing found: ${found}`)
  })
}

/** Milliseconds until it has answered; its end is not counted. */
async function toAnswer(
  place: Place,
  argv: readonly string[],
  ask: (spoken: Spoken) => Promise<unknown>,
): Promise<number> {
  const started = performance.now()
  const spoken = await spokenTo(place, argv)
  try {
    await ask(spoken)
    return performance.now() - started
  } finally {
    await spoken.close()
  }
}

async function afterKill(rounds: number): Promise<Figure> {
  const times: number[] = []
  while (times.length < rounds) times.push(...(await killedAgain(Math.min(FEW, rounds - times.length))))
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

/** A server that ends more often within a minute is not started again at once. */
const FEW = 3

async function killedAgain(often: number): Promise<readonly number[]> {
  const place = writeServers(makePlace(), { everything })
  const kiwi = await spokenTo(place, [process.execPath, KIWI])
  const times: number[] = []
  try {
    await kiwi.call(ECHO)
    for (let turn = 0; turn < often; turn++) {
      process.kill(childOf(kiwi), 'SIGKILL')
      const started = performance.now()
      if (!(await kiwi.call(ECHO)).includes('Echo: hello')) throw new Error('the call was not served')
      times.push(performance.now() - started)
    }
    return times
  } finally {
    await kiwi.close()
    place.remove()
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
