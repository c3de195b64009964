import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { loadConfig } from '../src/config/config.ts'
import type { Kiwi } from '../src/kiwi.ts'
import { openKiwi } from '../src/kiwi.ts'
import type { Client } from '../src/meta/meta.ts'
import { listField, textField } from '../test/fixtures/field.ts'
import { makePlace } from '../test/fixtures/place.ts'

/** A tool to be found. */
export interface Findable {
  readonly id: string
  readonly description: string
  readonly parameters: readonly Parameter[]
}

interface Parameter {
  readonly name: string
  readonly description: string
  readonly enum?: readonly unknown[] | undefined
}

interface Request {
  readonly query: string
  /** Any of these will do. */
  readonly wanted: readonly string[]
}

const LOOKED_AT = 10

/** Asks a real Kiwi, whose project holds the tools, by its own `search`; one line of a table. */
export async function measureQuality(
  what: string,
  tools: readonly Findable[],
  requests: readonly Request[],
): Promise<string> {
  const ids = idsOf(tools)
  const { kiwi, client, project, close } = await openWith(tools, ids)
  await untilRead(kiwi, join(project, '.ai'))
  const places: number[] = []
  for (const { query, wanted } of requests) {
    const { data } = await kiwi.call('search', { query, limit: LOOKED_AT, source: 'project' }, client)
    const found = listField(data, 'results').map((result) => ids.indexOf(textField(result, 'id')))
    const at = found.findIndex((place) => wanted.includes(tools[place]?.id ?? ''))
    places.push(at === -1 ? Infinity : at + 1)
  }
  await close()
  const share = (most: number): string =>
    (places.filter((place) => place <= most).length / places.length).toFixed(3)
  const mean = places.reduce((sum, place) => sum + 1 / place, 0) / places.length
  return `| ${what} (${places.length}) | ${share(1)} | ${share(5)} | ${mean.toFixed(3)} |`
}

/** What a person would call the files: by the name of the tool, the second of a name with a number. */
function idsOf(tools: readonly Findable[]): readonly string[] {
  const taken = new Map<string, number>()
  return tools.map(({ id }) => {
    const plain = id.toLowerCase().replaceAll(/[^a-z0-9]+/g, '_')
    const times = (taken.get(plain) ?? 0) + 1
    taken.set(plain, times)
    return times === 1 ? plain : `${plain}_${times}`
  })
}

/** What is new is read on the side, within seconds. */
async function untilRead({ vectors, spaces }: Kiwi, root: string): Promise<void> {
  const places = [{ space: 'project', root }] as const
  await spaces.at(dirname(root)).syncIndex()
  for (;;) {
    vectors?.begin(places)
    const { texts, made } = (await vectors?.state(places)) ?? { texts: 1, made: 1 }
    if (texts > 0 && made === texts) return
    await sleep(200)
  }
}

/** A Kiwi whose project holds these as tools, each in a file. */
async function openWith(
  tools: readonly Findable[],
  ids: readonly string[],
): Promise<{ kiwi: Kiwi; client: Client; project: string; close: () => Promise<void> }> {
  const place = makePlace()
  const folder = join(place.project, '.ai/tools')
  mkdirSync(folder, { recursive: true })
  for (const [at, { id: name, description, parameters }] of tools.entries()) {
    const id = ids[at] ?? ''
    const manifest = {
      tool_id: id,
      name,
      tool_type: 'script',
      executor: 'bash_runtime',
      version: '1.0.0',
      description,
      parameters: parameters.map((parameter) => ({ type: 'string', ...parameter })),
      config: { entrypoint: 'main.sh' },
    }
    writeFileSync(join(folder, `${id}.yaml`), JSON.stringify(manifest))
  }
  const kiwi = await openKiwi(loadConfig(place.env))
  const client: Client = {
    principal: 'bench',
    session: 'bench',
    kind: 'person',
    defaultProject: () => Promise.resolve(place.project),
  }
  return {
    kiwi,
    client,
    project: place.project,
    async close() {
      await kiwi.close()
      place.remove()
    },
  }
}
