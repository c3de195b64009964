import { existsSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, parse, resolve } from 'node:path'
import type { CheckedDirective } from '../kernel/directive/check-directive.ts'
import { checkDirective } from '../kernel/directive/check-directive.ts'
import { ruleWords } from '../kernel/policy/rule-words.ts'
import { ERRORS, KiwiError } from '../shared/errors.ts'
import { parseItemRef } from '../shared/ids.ts'
import { LIMITS } from '../shared/limits.ts'
import { nameIn } from '../spaces/directive/dialect.ts'
import { NOTHING_TO_FOLLOW, isEmpty } from '../spaces/directive/model.ts'
import { repairText } from '../spaces/directive/repair-text.ts'
import type { Item } from '../spaces/item.ts'
import type { Lookup } from '../spaces/lookup.ts'
import { notFound } from '../spaces/not-found.ts'
import { decodeText, readRegularFile } from '../spaces/read-file.ts'
import { readWritten } from '../spaces/read-item.ts'
import { stripSignatures } from '../spaces/signature-line.ts'
import type { Terminal } from './terminal.ts'
import { openTerminal, printable, table } from './terminal.ts'
import type { CommonOptions } from './with-kiwi.ts'
import { withKiwi } from './with-kiwi.ts'

interface CheckOptions extends CommonOptions {
  readonly fix?: boolean
}

/** `kiwi check <directive or file>`: what it says and grants, and what is wrong with it. Fails when it cannot run. */
export function checkCommand(target: string, options: CheckOptions): Promise<number> {
  return withKiwi(options, async ({ kiwi, project }) => {
    const lookup = kiwi.spaces.at(project)
    lookup.freshen(true)
    const terminal = openTerminal()
    const file = fileAt(target)
    if (file === null && isPath(target)) throw noFile(target)
    if (options.fix === true) {
      await fix(file ?? (await pathOf(target, lookup)), terminal)
      lookup.freshen(true)
    }
    const item = file === null ? await itemNamed(target, lookup) : await itemIn(file)
    const report = reportOf(item, file, await checkDirective(item, { lookup, home: kiwi.config.home }))
    if (options.json === true) terminal.out(JSON.stringify(report, null, 2))
    else print(report, terminal)
    return report.can_run ? 0 : ERRORS.NOT_FOUND.exit
  })
}

/** The file that is meant: a document, or the one of a skill. */
function fileAt(target: string): string | null {
  const skill = join(target, 'SKILL.md')
  if (existsSync(skill)) return skill
  return existsSync(target) && statSync(target).isFile() ? target : null
}

/** Of what is not there: no id begins like a path, or ends like a file of a directive. */
function isPath(target: string): boolean {
  return /^(?:\.{0,2}\/|~)|\.md$|\\/.test(target)
}

function noFile(target: string): KiwiError {
  const isFolder = existsSync(target)
  const reason = isFolder ? 'it is a folder without a SKILL.md' : 'there is no such file'
  return new KiwiError('NOT_FOUND', `Cannot check "${target.slice(0, 300)}": ${reason}`, {
    hint: isFolder ? 'Name a file in it' : 'Name a file that is there, or a directive by its id',
    fix: { call: 'search', arguments: { query: '', item_type: 'directive' } },
    details: { path: resolve(target) },
  })
}

async function pathOf(target: string, lookup: Lookup): Promise<string | null> {
  const ref = parseItemRef(target)
  const broken = await lookup.broken(ref, 'directive')
  return broken?.path ?? (await itemNamed(target, lookup)).path
}

async function itemNamed(target: string, lookup: Lookup): Promise<Item> {
  const ref = parseItemRef(target)
  const item = await lookup.find(ref, 'directive')
  if (item?.manifest.tool_type !== 'directive') throw notFound(ref, 'directive')
  return item
}

/** The item that the file would be among the directives. */
function itemIn(path: string): Promise<Item> {
  const { bytes } = readRegularFile(path, LIMITS.itemBytes)
  const manifest = { path: isSkill(path) ? 'SKILL.md' : path, content: bytes, isExecutable: false }
  const kind = isSkill(path) ? 'folder' : 'document'
  return readWritten(
    { place: 'directives', kind, manifest, files: [] },
    { stem: stemOf(path), category: null },
    'project',
  )
}

function isSkill(path: string): boolean {
  return basename(path) === 'SKILL.md'
}

function stemOf(path: string): string {
  return isSkill(path) ? basename(dirname(resolve(path))) : parse(path).name
}

/** Writes the file anew when that makes it readable; else nothing is written. */
async function fix(path: string | null, terminal: Terminal): Promise<void> {
  if (path === null) return
  const { bytes } = readRegularFile(path, LIMITS.itemBytes)
  const before = decodeText(bytes, path)
  const { text, lines } = await repairText(before, {
    where: path,
    stem: stemOf(path),
    isSkill: isSkill(path),
  })
  if (text === before) return
  const beside = `${path}.${process.pid}.tmp`
  // Whoever may read it stays the same.
  writeFileSync(beside, text, { mode: statSync(path).mode % 0o1000 })
  renameSync(beside, path)
  terminal.note(`Wrote ${path}: ${lines.length === 1 ? 'line' : 'lines'} ${lines.join(', ')}`)
  if (stripSignatures(before, path) !== before)
    terminal.note(`Its signature was for what it was: kiwi sign ${stemOf(path)}`)
}

function reportOf(item: Item, file: string | null, checked: CheckedDirective) {
  const { directive, granted, excess, idle, unmatched, unnamed, unknownServers, calls } = checked
  const required = new Set(
    directive.wanted.servers.filter((server) => server.required).map(({ name }) => name),
  )
  const missing = unknownServers.filter((server) => required.has(server))
  return {
    name: directive.name,
    version: directive.version,
    description: directive.description,
    dialect: directive.dialect,
    path: file ?? item.path,
    can_run: missing.length === 0,
    inputs: directive.inputs,
    steps: directive.steps.map((step) => ({ name: step.name, calls: step.calls.map(({ tool }) => tool) })),
    granted: granted.permissions.map(ruleWords),
    asks_for_secrets: granted.secrets,
    scripts: directive.wanted.scripts,
    unknown_servers: unknownServers.map((name) => ({ name, required: required.has(name) })),
    excess,
    idle,
    unmatched,
    unnamed,
    calls,
    ignored: granted.reports,
    findings: isEmpty(directive) ? [...directive.findings, EMPTY] : directive.findings,
    warnings: item.warnings,
  }
}

const EMPTY = { line: 1, column: 1, message: NOTHING_TO_FOLLOW }

type Report = ReturnType<typeof reportOf>

function print(report: Report, terminal: Terminal): void {
  const { name, version, dialect, description, path, inputs, steps } = report
  terminal.out(`${terminal.bold(printable(`${name} ${version}`))} (${dialect}) ${printable(description)}`)
  const rows: readonly (readonly [string, string])[] = [
    [
      'inputs',
      inputs.map((input) => `${input.name} (${input.type}${input.required ? ', required' : ''})`).join(', '),
    ],
    ['steps', steps.map((step, at) => step.name ?? String(at + 1)).join(', ')],
    ...report.granted.map((line): readonly [string, string] => ['grants', line]),
    [
      'grants',
      report.granted.length + report.scripts.length === 0 ? 'nothing: a run of it calls no tool' : '',
    ],
    ['scripts', report.scripts.join(', ')],
    ['secrets', report.asks_for_secrets.join(', ')],
  ]
  const said = rows.filter(([, text]) => text !== '')
  if (said.length > 0) terminal.out(table(said.map(([key, text]) => [`  ${key}`, text])))
  for (const line of faultsOf(report)) terminal.out(printable(`${path ?? name}${line}`))
}

/** What somebody should look at, each with its place. */
function faultsOf({
  dialect,
  findings,
  ignored,
  excess,
  idle,
  unmatched,
  unnamed,
  unknown_servers,
  calls,
  warnings,
}: Report): readonly string[] {
  return [
    ...findings.map(({ line, column, message }) => `:${line}:${column}: ${message}`),
    ...ignored.map((text) => `:${text.replace(/^line (\d+): /, '$1: ')}`),
    ...excess.map(
      ({ wanted, required, line }) =>
        `${line === null ? '' : `:${line}`}: ${wanted} is not granted: add ${required} to ${nameIn(dialect, 'permissions')}`,
    ),
    ...(idle.length === 0
      ? []
      : [
          `: ${idle.join(', ')}: granted, and not among ${nameIn(dialect, 'tools')}, so that no run can use it`,
        ]),
    ...unknown_servers.map(
      ({ name, required }) =>
        `: there is no server "${name}"${required ? ', which it requires' : ''}: kiwi add ${name}`,
    ),
    ...unnamed.map((text) => `: ${text}`),
    ...unmatched
      .filter((text) => !unknown_servers.some(({ name }) => text.endsWith(`kiwi add ${name}`)))
      .map((text) => `: ${text}`),
    ...onceAbsent(calls, unknown_servers).map(({ said }) => `: ${said}`),
    ...warnings.map((text) => `: ${text}`),
  ]
}

/** That a server or a tool is not there is said once, however often it is named. */
function onceAbsent(calls: Report['calls'], servers: Report['unknown_servers']): Report['calls'] {
  const said = new Set<string>()
  return calls.filter(({ tool, required }) => {
    if (required !== null) return true
    if (said.has(tool) || servers.some(({ name }) => tool.startsWith(`${name}.`))) return false
    said.add(tool)
    return true
  })
}
