import { writeFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { join } from 'node:path'
import { loadConfig } from '../src/config/config.ts'
import { openKiwi } from '../src/kiwi.ts'
import { chain } from './chain.ts'
import { execute } from './execute.ts'
import { http } from './http.ts'
import { journal } from './journal.ts'
import type { Figure } from './measure.ts'
import { isMissed } from './measure.ts'
import { makePlace, ROOT } from './place.ts'
import { startUp } from './start-up.ts'

/** `npm run bench [-- --quick] [-- --write]`: measures, prints a table, and fails when a target is missed. */
const isQuick = process.argv.includes('--quick')
const place = makePlace()
const kiwi = await openKiwi(loadConfig(place.env))
const client = {
  principal: 'bench',
  session: 'bench',
  kind: 'person',
  defaultProject: () => Promise.resolve(place.project),
} as const
const figures: Figure[] = []
try {
  figures.push(...(await startUp(place, isQuick ? 5 : 15)))
  figures.push(...(await chain(kiwi, place.project)))
  figures.push(...(await execute(kiwi, client, isQuick ? 50 : 300)))
  figures.push(...(await http(isQuick ? 3 : 9)))
  figures.push(...(await journal(kiwi, isQuick ? 500 : 3000)))
} finally {
  await kiwi.close()
  place.remove()
}

const rows = figures.map((figure) => [
  figure.id,
  figure.what,
  `${figure.value.toLocaleString('en')} ${figure.unit}`,
  targetOf(figure),
  isMissed(figure) ? 'MISSED' : figure.target === null ? '' : 'ok',
  figure.how,
  figure.detail,
])
const head = ['id', 'what', 'value', 'target', '', 'how', 'detail']
const table = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
const machine = `Node ${process.version}, ${cpus().length} x ${cpus()[0]?.model ?? 'unknown'}, load ${loadavg()[0]?.toFixed(1)}`
console.log(`${table}\n\n${machine}`)
writeFileSync(join(ROOT, 'dist-dev/bench.json'), JSON.stringify({ machine, figures }, null, 2))
if (process.argv.includes('--write')) writeFileSync(join(ROOT, 'docs/benchmarks.md'), page())
process.exitCode = figures.some(isMissed) ? 1 : 0

function targetOf({ target, unit }: Figure): string {
  if (target === null) return ''
  return target.most === undefined
    ? `>= ${target.least?.toLocaleString('en')} ${unit}`
    : `<= ${target.most.toLocaleString('en')} ${unit}`
}

function page(): string {
  return `# Benchmarks

Written by \`npm run bench -- --write\`. Every ratio has its numerator and denominator in the same run, taken in turn; absolute
numbers belong to the machine below. \`npm run bench\` fails when a target is missed; \`-- --quick\` takes fewer rounds.

${table}

${machine}
`
}
