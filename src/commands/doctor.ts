import { existsSync, statSync, statfsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Config } from '../config/config.ts'
import { loadConfig } from '../config/config.ts'
import { readEnvironment } from '../config/environment.ts'
import { toKiwiError } from '../meta/reply.ts'
import { readToken } from '../server/token.ts'
import { ERRORS } from '../shared/errors.ts'
import { VERSION } from '../shared/version.ts'
import { openOwnKey } from '../spaces/signing-key.ts'
import type { Finding } from './finding.ts'
import { policyFindings } from './policy-findings.ts'
import { sandboxFinding } from './sandbox-finding.ts'
import { projectItems } from './project-items.ts'
import { isServersFile } from './known-servers.ts'
import { serverFindings } from './server-findings.ts'
import { openTerminal, printReply, table } from './terminal.ts'
import { isTrusted } from './trust.ts'
import { vaultFinding } from './vault-finding.ts'
import { vectorFindings } from './vector-finding.ts'
import type { CommonOptions, Session } from './with-kiwi.ts'
import { withKiwi } from './with-kiwi.ts'

/** Samples that show whether a runtime works here, and what to install when it does not. */
const RUNTIMES = [
  ['hello_world', 'python', 'Install Python 3 and put python3 on the PATH'],
  ['hello_bash', 'bash', 'Install bash'],
  ['hello_node', 'node', 'Put node on the PATH'],
] as const

/** `kiwi doctor [server]`: what works here, what does not, and where each setting came from; or how one server stands. */
export async function doctorCommand(server: string | undefined, options: CommonOptions): Promise<number> {
  if (server !== undefined) return withKiwi(options, (session) => lookAtServer(session, server, options))
  const findings = [nodeFinding(), filesFinding()]
  const config = readConfig(findings)
  if (config !== null) {
    findings.push(await tokenFinding(config), keyFinding(config))
    try {
      findings.push(...(await withKiwi(options, look)))
    } catch (error) {
      findings.push(failure('store', error))
    }
  }
  print(findings, config, options.json === true)
  const first = findings.find((finding) => finding.state === 'fail')
  return first === undefined ? 0 : ERRORS[first.code].exit
}

/** One that was never asked, or long ago, is asked what it has: then it is known whether it answers. */
async function lookAtServer(
  session: Session,
  name: string,
  { json = false }: CommonOptions,
): Promise<number> {
  const reply = await session.call('load', { item_type: 'mcp', item_id: name })
  if (reply.error?.code === 'NOT_FOUND') return printReply(reply, json, () => {})
  print(await serverFindings(session, name), null, json)
  return 0
}

function failure(name: string, error: unknown): Finding {
  const { code, message, hint } = toKiwiError(error)
  return { name, state: 'fail', code, detail: message, fix: hint }
}

function nodeFinding(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const isKnown = major > 20 || (major === 20 && minor >= 19)
  const detail = `${process.version}, kiwi ${VERSION}`
  if (!isKnown) {
    const fix = 'Install Node.js 20.19 or newer; 22 is advised'
    return { name: 'node', state: 'fail', code: 'INVALID_CONFIG', detail, fix }
  }
  return major === 20
    ? { name: 'node', state: 'warn', detail, fix: 'Node.js 20 is past its end of life; 22 is advised' }
    : { name: 'node', state: 'ok', detail }
}

/** Whether the tools for files can ask the system what they have opened. */
function filesFinding(): Finding {
  const name = 'files'
  if (existsSync('/proc/self/fd'))
    return { name, state: 'ok', detail: 'paths are checked on what was opened' }
  const detail = 'paths are checked before and after they are opened, not on what was opened'
  const fix = 'Where others may swap links in a project meanwhile, use its files through Kiwi on Linux'
  return { name, state: 'warn', detail, fix }
}

function readConfig(findings: Finding[]): Config | null {
  try {
    return loadConfig(readEnvironment())
  } catch (error) {
    findings.push(failure('settings', error))
    return null
  }
}

async function tokenFinding({ token }: Config): Promise<Finding> {
  const name = 'token'
  const stat = statSync(token, { throwIfNoEntry: false })
  if (stat === undefined) return { name, state: 'ok', detail: 'made at the first kiwi serve' }
  if ((stat.mode & 0o077) !== 0) {
    const detail = `${token} can be read by others`
    return { name, state: 'fail', code: 'INVALID_CONFIG', detail, fix: `chmod 600 ${token}` }
  }
  try {
    await readToken(token)
    return { name, state: 'ok', detail: token }
  } catch (error) {
    return failure(name, error)
  }
}

function keyFinding(config: Config): Finding {
  const name = 'key'
  const stat = statSync(config.key, { throwIfNoEntry: false })
  if (stat === undefined) return { name, state: 'ok', detail: 'made at the first create or sign' }
  if ((stat.mode & 0o077) !== 0) {
    const detail = `${config.key} can be read by others`
    return { name, state: 'fail', code: 'INVALID_CONFIG', detail, fix: `chmod 600 ${config.key}` }
  }
  try {
    return { name, state: 'ok', detail: `${openOwnKey(config).read()?.fingerprint} in ${config.key}` }
  } catch (error) {
    return failure(name, error)
  }
}

/** What a project would set is not read, and whoever wrote it there waits for it in vain. */
function settingsFinding({ project, kiwi }: Session): readonly Finding[] {
  const file = join(project, '.ai', 'kiwi.json')
  if (file === kiwi.config.file || !existsSync(file)) return []
  const fix = `Put what is yours into ${kiwi.config.file}; no project can set it`
  return [{ name: 'settings', state: 'warn', detail: `${file} is not read`, fix }]
}

async function trustFinding(session: Session): Promise<Finding> {
  const name = 'trust'
  if (await isTrusted(session)) return { name, state: 'ok', detail: `${session.project} is trusted` }
  const { count } = await projectItems(session.kiwi, session.project)
  if (count === 0) return { name, state: 'ok', detail: `${session.project} brings no items` }
  const detail = `${session.project} is not trusted: its ${count} items do not run`
  return { name, state: 'warn', detail, fix: 'Review them, then run kiwi trust' }
}

/** Whether a call can be recorded is seen by making one: an open store tells nothing of the room on its disk. */
async function storeFinding({ kiwi, call }: Session): Promise<Finding> {
  const { store, config } = kiwi
  const name = 'store'
  const free = freeKib(dirname(config.store))
  const writable = `Make ${config.store} writable`
  const { readOnlyReason } = store
  if (readOnlyReason !== null && free >= LEAST_ROOM_KIB)
    return { name, state: 'fail', code: 'STORE_UNAVAILABLE', detail: readOnlyReason, fix: writable }
  if (readOnlyReason === null) {
    const { metadata } = await call('help', {})
    const records = await store.records({ call_id: metadata.call_id, limit: 2 })
    if (records.length === 2) return { name, state: 'ok', detail: config.store }
  }
  const detail = `${config.store} takes no records, so nothing that changes something runs; ${free} KiB are free on its disk`
  return { name, state: 'fail', code: 'STORE_FULL', detail, fix: `Make room on its disk, or: ${writable}` }
}

function freeKib(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return Math.floor((bavail * bsize) / 1024)
  } catch {
    // What is not there is not full.
    return Infinity
  }
}

/** Too little for the log of the store, and for the memory that those who use it share. */
const LEAST_ROOM_KIB = 64

async function look(session: Session): Promise<readonly Finding[]> {
  const { kiwi, project, call } = session
  const { store, spaces } = kiwi
  const findings: Finding[] = []
  const { records, fault } = await kiwi.verifyJournal()
  findings.push(
    await storeFinding(session),
    fault === null
      ? { name: 'journal', state: 'ok', detail: `${records} records, the chain is whole` }
      : {
          name: 'journal',
          state: 'fail',
          code: 'INTERNAL',
          detail: `${records} records are sound, then: ${fault}`,
          fix: 'kiwi audit --verify says more; compare with a backup: somebody changed the store',
        },
  )
  findings.push(await vaultFinding(kiwi))
  for (const [sample, name, fix] of RUNTIMES) {
    const { error } = await call('execute', {
      item_type: 'tool',
      action: 'run',
      item_id: sample,
      dry_run: true,
    })
    findings.push(
      error === null
        ? { name, state: 'ok', detail: `${sample} can run` }
        : { name, state: 'warn', detail: error.message, fix },
    )
  }
  findings.push(sandboxFinding(await kiwi.sandbox()))
  findings.push({ name: 'project', state: 'ok', detail: project }, ...settingsFinding(session))
  findings.push(await trustFinding(session))
  const policy = await kiwi.policyOf(project)
  const { signatureRequiredBy } = policy
  if (signatureRequiredBy !== null)
    findings.push({ name: 'signed', state: 'ok', detail: `only what is signed runs: ${signatureRequiredBy}` })
  findings.push(...policyFindings(policy, project))
  const lookup = spaces.at(project)
  const { faults, places } = await lookup.syncIndex()
  const counts = Object.values(await store.count(places)).reduce((sum, count) => sum + count, 0)
  findings.push({ name: 'items', state: 'ok', detail: `${counts} found from ${project}` })
  findings.push(...(await vectorFindings(session, places)), ...(await serverFindings(session)))
  for (const { path, reason } of faults)
    findings.push({
      name: 'item',
      state: 'warn',
      detail: reason,
      fix: isServersFile(path) ? `Correct it in ${path}` : `Correct or remove ${path}`,
    })
  return findings
}

function print(findings: readonly Finding[], config: Config | null, isJson: boolean): void {
  const terminal = openTerminal()
  const settings = config === null ? [] : settingsOf(config)
  if (isJson) {
    terminal.out(JSON.stringify({ findings, settings }, null, 2))
    return
  }
  terminal.out(
    table(
      findings.flatMap(({ name, state, detail, fix }) => [
        [state, name, detail],
        ...(fix === undefined ? [] : [['', '', `> ${fix}`]]),
      ]),
    ),
  )
  if (settings.length > 0)
    terminal.out(
      `\n${table(
        settings.map(({ name, value, from }) => [name, value, from]),
        { 2: terminal.dim },
      )}`,
    )
}

function settingsOf(config: Config): readonly { name: string; value: string; from: string }[] {
  const { sources } = config
  return [
    { name: 'user_space', value: config.userSpace, from: sources.user_space },
    { name: 'store', value: config.store, from: sources.store },
    { name: 'port', value: String(config.port), from: sources.port },
    { name: 'log_level', value: config.logLevel, from: sources.log_level },
    { name: 'allow_hosts', value: config.allowHosts.join(', ') || '-', from: sources.allow_hosts },
    {
      name: 'grants',
      value: config.grants.map(({ tool, names }) => `${tool}: ${names.join(', ')}`).join('; ') || '-',
      from: sources.grants,
    },
    {
      name: 'publishers',
      value: config.publishers.map(({ name, namespace }) => `${name}: ${namespace}`).join('; ') || '-',
      from: sources.publishers,
    },
    {
      name: 'outputs',
      value: `keep ${config.outputs.keep}, min_bytes ${config.outputs.minBytes}`,
      from: sources.outputs,
    },
    {
      name: 'packages',
      value: packagesOf(config.packages) || '-',
      from: sources.packages,
    },
    { name: 'search', value: searchOf(config.search), from: sources.search },
    { name: 'watch', value: config.watch ? 'on' : 'off', from: sources.watch },
  ]
}

function searchOf({ embedder, model, waitMs, learn }: Config['search']): string {
  const vectors =
    embedder === null ? '' : `${embedder}${model === null ? '' : ` ${model}`}, wait_ms ${waitMs}, `
  return `${vectors}learn ${learn ? 'on' : 'off'}`
}

/** An address may hold a password. */
function packagesOf(packages: Config['packages']): string {
  const text = Object.entries(packages)
    .map(([language, settings]) => `${language}: ${JSON.stringify(settings)}`)
    .join('; ')
  return text.replaceAll(/\/\/[^/@\s]+@/g, '//***@')
}
