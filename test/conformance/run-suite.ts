import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { z } from 'zod'
import { parse } from 'yaml'

/** How one scenario of the suite ended. */
export interface ScenarioEnd {
  readonly passed: number
  /** What failed, in the suite's words. */
  readonly failures: readonly string[]
}

export type Leg = 'server' | 'client'
export type Revision = '2025-11-25' | '2026-07-28'

const SUITE = createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json')
const HOOK = pathToFileURL(join(import.meta.dirname, 'node20.mjs')).href
/** `server-tools-list-2026-11-16T08-00-00-000Z`, or without the first word for a client. */
const FOLDER = /^(?:server-)?(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/

const Checks = z.array(
  z.looseObject({ name: z.string(), status: z.string(), errorMessage: z.string().optional() }),
)
const Requirements = z.looseObject({ server: z.array(z.string()), client: z.array(z.string()) })

/** The official conformance suite as a process of its own, from its command to the end of each scenario. */
export async function runSuite(
  leg: Leg,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<ReadonlyMap<string, ScenarioEnd>> {
  const folder = mkdtempSync(join(tmpdir(), 'kiwi-conformance-'))
  try {
    const command = ['--import', HOOK, join(dirname(SUITE), 'dist/index.js'), leg, '-o', folder, ...args]
    const child = spawn(process.execPath, command, {
      cwd: folder,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let said = ''
    child.stdout.on('data', (chunk) => (said += String(chunk)))
    child.stderr.on('data', (chunk) => (said += String(chunk)))
    await once(child, 'close')
    const ends = readEnds(leg, folder)
    if (ends.size === 0) throw new Error(`the suite ran nothing: ${said.slice(-2000)}`)
    return ends
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** What a revision of the protocol asks for, as the suite has frozen it. */
export function requiredScenarios(revision: Revision, leg: Leg): readonly string[] {
  const text = readFileSync(join(dirname(SUITE), 'requirements', `${revision}.yaml`), 'utf8')
  return Requirements.parse(parse(text))[leg]
}

/** Those of the named scenarios that did not run, or failed, with what the suite said. */
export function failuresAmong(
  names: readonly string[],
  ends: ReadonlyMap<string, ScenarioEnd>,
): readonly string[] {
  return names.flatMap((name) => {
    const end = ends.get(name)
    if (end === undefined) return [`${name}: did not run`]
    if (end.failures.length > 0) return end.failures.map((failure) => `${name}: ${failure}`)
    return end.passed === 0 ? [`${name}: nothing was checked`] : []
  })
}

function readEnds(leg: Leg, folder: string): ReadonlyMap<string, ScenarioEnd> {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const reports = files.filter((file) => file.endsWith('checks.json'))
  return new Map(
    reports.map((file) => {
      const [, name = file] = FOLDER.exec(dirname(file)) ?? []
      const checks = Checks.parse(JSON.parse(readFileSync(join(folder, file), 'utf8')))
      const failures = checks
        .filter(({ status }) => status === 'FAILURE' || (leg === 'client' && status === 'WARNING'))
        .map((check) => `${check.name}: ${check.errorMessage ?? 'failed'}`)
      return [name, { passed: checks.filter(({ status }) => status === 'SUCCESS').length, failures }]
    }),
  )
}
