import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Kiwi } from '../src/kiwi.ts'
import type { Client } from '../src/meta/meta.ts'
import type { Figure, Sample } from './measure.ts'
import { round, summarize, timed } from './measure.ts'

const ITEMS = 10_000
const PER_FOLDER = 100

/** A project of ten thousand items: how long until they are found, and what it costs to see that nothing changed. */
export async function spaces(
  kiwi: Kiwi,
  client: Client,
  project: string,
  rounds: number,
): Promise<readonly Figure[]> {
  const edited = fill(project)
  const search = (query: string): Promise<unknown> => kiwi.call('search', { query }, client)
  const first = await timed(() => search('topic42'))
  const lookup = kiwi.spaces.at(project)
  const unchanged = await repeat(rounds, () => lookup.freshen(true))
  const oneChanged = await repeat(rounds, (turn) => {
    appendFileSync(edited, `# ${turn}\n`)
    lookup.freshen(true)
  })
  const searched = await repeat(rounds, async (turn) => {
    appendFileSync(edited, `# again ${turn}\n`)
    await search(`topic${turn}`)
  })
  const files = lookup.spaces.reduce((sum, space) => sum + space.stamps().size, 0)
  const figure = (what: string, how: string, time: Sample, most: number): Figure => ({
    id: 'E2',
    what,
    how,
    value: round(time.p50),
    unit: 'ms',
    detail: `p95 ${round(time.p95)} ms; ${files.toLocaleString('en')} items`,
    target: { most },
  })
  return [
    {
      id: 'E2',
      what: 'first search over 10,000 item files',
      how: 'look, read, index and search, once; manifests, scripts and documents in 100 folders',
      value: round(first),
      unit: 'ms',
      detail: `${files.toLocaleString('en')} items`,
      target: null,
    },
    figure('look at 10,000 files, nothing changed', 'names and stats, warm cache, p50', unchanged, 100),
    figure('the same after one file was edited', 'p50', oneChanged, 100),
    figure(
      'search after an edit',
      'look, read and index one, find a word of one item in 97, record; p50',
      searched,
      100,
    ),
  ]
}

async function repeat(rounds: number, run: (turn: number) => unknown): Promise<Sample> {
  const times: number[] = []
  for (let turn = 0; turn < rounds; turn++) times.push(await timed(async () => run(turn)))
  return summarize(times)
}

/** Writes the items, and returns the path of one of them. */
function fill(project: string): string {
  let last = ''
  for (let number = 0; number < ITEMS; number++) {
    const { type, ending, text } = sample(number)
    const folder = join(project, '.ai', type, `group_${Math.floor(number / PER_FOLDER)}`)
    if (number % PER_FOLDER === 0) {
      mkdirSync(join(project, '.ai/tools', `group_${Math.floor(number / PER_FOLDER)}`), { recursive: true })
      mkdirSync(join(project, '.ai/knowledge', `group_${Math.floor(number / PER_FOLDER)}`), {
        recursive: true,
      })
    }
    const path = join(folder, `item_${number}.${ending}`)
    writeFileSync(path, text)
    if (ending === 'yaml') last = path
  }
  return last
}

function sample(number: number): { type: string; ending: string; text: string } {
  const about = `Item number ${number} of the benchmark, about topic${number % 97}`
  switch (number % 3) {
    case 0:
      return {
        type: 'tools',
        ending: 'py',
        text: `#!/usr/bin/env python3\n"""${about}.\n"""\nimport json\n__version__ = "1.0.0"\n\n\ndef main(text: str = "x") -> dict:\n    return {"text": text}\n`,
      }
    case 1:
      return {
        type: 'tools',
        ending: 'yaml',
        text: `tool_id: item_${number}\ntool_type: script\nexecutor: bash_runtime\nversion: 1.0.0\ndescription: ${about}\nconfig:\n  entrypoint: main.sh\nparameters:\n  - {name: text, type: string, description: what it is about}\n`,
      }
    default:
      return {
        type: 'knowledge',
        ending: 'md',
        text: `---\nid: item_${number}\ntitle: ${about}\ntags: [bench]\nversion: 1.0.0\n---\n# ${about}\n\nSome text about it.\n`,
      }
  }
}
