import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { join } from 'node:path'
import { loadConfig } from '../src/config/config.ts'
import type { Kiwi } from '../src/kiwi.ts'
import { openKiwi } from '../src/kiwi.ts'
import type { Client } from '../src/meta/meta.ts'
import { chain } from './chain.ts'
import { environments } from './environments.ts'
import { execute } from './execute.ts'
import { http } from './http.ts'
import { journal } from './journal.ts'
import type { Figure } from './measure.ts'
import { Figures, isMissed, ROOT } from './measure.ts'
import type { Place } from '../test/fixtures/place.ts'
import { makePlace } from '../test/fixtures/place.ts'
import { sandbox } from './sandbox.ts'
import { proxy } from './proxy.ts'
import { policy } from './policy.ts'
import { servers } from './servers.ts'
import { spaces } from './spaces.ts'
import { startUp } from './start-up.ts'
import { undo } from './undo.ts'

/** What a group of figures is measured on. */
interface Bed {
  readonly place: Place
  readonly kiwi: Kiwi
  readonly client: Client
  readonly isQuick: boolean
}

const GROUPS: Readonly<Record<string, (bed: Bed) => Promise<readonly Figure[]>>> = {
  'start-up': ({ place, isQuick }) => startUp(place, isQuick ? 5 : 15),
  chain: ({ kiwi, place }) => chain(kiwi, place.project),
  execute: ({ kiwi, client, isQuick }) => execute(kiwi, client, isQuick ? 50 : 600),
  environments: ({ place, client, isQuick }) => environments(place, client, isQuick ? 15 : 100),
  sandbox: ({ isQuick }) => sandbox(isQuick ? 20 : 200),
  http: ({ isQuick }) => http(isQuick ? 3 : 15),
  spaces: ({ kiwi, client, place, isQuick }) => spaces(kiwi, client, place.project, isQuick ? 5 : 30),
  undo: ({ kiwi, client, place, isQuick }) => undo(kiwi, client, place.project, isQuick ? 10 : 40),
  policy: ({ kiwi, client, isQuick }) => policy(kiwi, client, isQuick ? 200 : 2000),
  servers: ({ place, isQuick }) => servers(place, isQuick ? 3 : 10),
  proxy: ({ place, isQuick }) => proxy(place, isQuick ? 1 : 5),
  journal: ({ kiwi, isQuick }) => journal(kiwi, isQuick ? 500 : 3000),
}

/** `npm run bench [-- --quick] [-- --write]`: measures, prints a table, and fails when a target is missed. */
const [group] = process.argv.slice(2).filter((argument) => !argument.startsWith('--'))
if (group === undefined) report(Object.keys(GROUPS).flatMap(measureApart))
else console.log(JSON.stringify(await measure(group)))

/** Each group in a process of its own, so that none pays for the memory of another. */
function measureApart(name: string): readonly Figure[] {
  const flags = process.argv.slice(2).filter((argument) => argument.startsWith('--'))
  const { stdout, status } = spawnSync(
    process.execPath,
    [...process.execArgv, import.meta.filename, name, ...flags],
    {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  if (status !== 0) throw new Error(`the group "${name}" failed`)
  return Figures.parse(JSON.parse(stdout))
}

async function measure(name: string): Promise<readonly Figure[]> {
  const place = makePlace()
  const kiwi = await openKiwi(loadConfig(place.env))
  const defaultProject = (): Promise<string> => Promise.resolve(place.project)
  const client: Client = { principal: 'bench', session: 'bench', kind: 'person', defaultProject }
  try {
    return (await GROUPS[name]?.({ place, kiwi, client, isQuick: process.argv.includes('--quick') })) ?? []
  } finally {
    await kiwi.close()
    place.remove()
  }
}

function report(figures: readonly Figure[]): void {
  const head = ['id', 'what', 'value', 'target', '', 'how', 'detail']
  const table = [head, head.map(() => '---'), ...figures.map(toRow)]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n')
  const machine = `Node ${process.version}, ${cpus().length} x ${cpus()[0]?.model ?? 'unknown'}, load ${loadavg()[0]?.toFixed(1)}`
  console.log(`${table}\n\n${machine}`)
  writeFileSync(join(ROOT, 'dist-dev/bench.json'), JSON.stringify({ machine, figures }, null, 2))
  if (process.argv.includes('--write')) writeFileSync(join(ROOT, 'docs/benchmarks.md'), page(table, machine))
  process.exitCode = figures.some(isMissed) ? 1 : 0
}

function toRow(figure: Figure): readonly string[] {
  const { id, what, value, unit, how, detail, target } = figure
  const verdict = isMissed(figure) ? 'MISSED' : target === null ? '' : 'ok'
  return [id, what, `${value.toLocaleString('en')} ${unit}`, targetOf(figure), verdict, how, detail]
}

function targetOf({ target, unit }: Figure): string {
  if (target === null) return ''
  return target.most === undefined
    ? `>= ${target.least?.toLocaleString('en')} ${unit}`
    : `<= ${target.most.toLocaleString('en')} ${unit}`
}

function page(table: string, machine: string): string {
  return `# Benchmarks

Written by \`npm run bench -- --write\`. Every ratio has its numerator and denominator in the same run, taken in turn; absolute
numbers belong to the machine below. \`npm run bench\` fails when a target is missed; \`-- --quick\` takes fewer rounds.
How well and how fast search finds stands below, by \`npm run bench:search\`. The peers of the proxy rows are installed with
\`npm ci --prefix bench/peers --ignore-scripts\`.

${table}

${machine}

${searchSection()}`
}

/** What the script of search wrote last, so that all figures stand on one page. */
function searchSection(): string {
  const written = readFileSync(join(ROOT, 'docs/benchmarks-search.md'), 'utf8')
  return written.replace(/^# Search$/m, '## Search')
}
