import { constants, existsSync } from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { KiwiError, messageOf } from '../shared/errors.ts'
import { ItemName } from '../shared/ids.ts'
import { LIMITS } from '../shared/limits.ts'
import { keepAll } from '../shared/redact.ts'
import { leadsOutTo, realPathOf } from '../spaces/disk.ts'
import { configOf, findClient, withKiwi } from '../spaces/import/connect-client.ts'
import type { KnownClient } from '../spaces/import/clients.ts'
import { CLIENTS } from '../spaces/import/clients.ts'
import type { Lookup } from '../spaces/lookup.ts'
import { setSection } from '../spaces/marked-section.ts'
import { decodeText, readRegularFile } from '../spaces/read-file.ts'
import { rewriteFile, writeItem } from '../spaces/write.ts'
import { assertPerson } from './assert-person.ts'
import type { Ticket, Wish, Work } from './call.ts'
import type { Means } from './means.ts'

/** A person puts Kiwi into the config of a client, and what a model should know of it into AGENTS.md. */
export async function connectWork(
  { client: named, started, system, to, replaces, withAgentsMd }: Extract<Wish, { kind: 'connect' }>,
  lookup: Lookup,
  ticket: Ticket,
  means: Means,
): Promise<Work> {
  assertPerson(ticket, 'connect')
  const client = named === null ? null : findClient(named)
  if (client === null && !withAgentsMd) throw noClient()
  const project = projectOf(lookup)
  const isInProject = to === 'project'
  const config =
    client === null
      ? null
      : await configChange(client, { started, system, replaces }, isInProject ? project : null, means)
  const agents = withAgentsMd
    ? await changeOf(join(project, 'AGENTS.md'), project, async (text) =>
        setSection(text, await snippet(lookup), join(project, 'AGENTS.md')),
      )
    : null
  const changes = [config, agents].filter((change) => change !== null)
  const shown = changes.map(({ path: file, state }) => ({ path: file, state }))
  const name = client?.name ?? null
  return {
    item: { id: name ?? 'AGENTS.md', version: null, space: null },
    action: 'connect',
    chain: [],
    // A person who names a client means its file.
    demands: [{ op: 'tool', id: 'kiwi-mcp', action: 'connect' }],
    isRepeatable: true,
    isReadOnly: false,
    parameters: { client: name, to, files: shown.map(({ path: file }) => file) },
    redact: keepAll,
    preview: () => ({
      client: name,
      entry: client?.entry(started.command, started.args) ?? null,
      files: shown,
    }),
    warnings: [],
    async perform() {
      const backup = config?.state === 'changed' ? await keepCopy(config.path, means) : null
      for (const change of changes) await write(change, means)
      const output = changes
        .slice(0, 1)
        .map((change) => outputOf(name, change))
        .join('')
      return { data: { output, client: name, files: shown, backup }, warnings: [] }
    },
  }
}

function configChange(
  client: KnownClient,
  { started, system, replaces }: Pick<Extract<Wish, { kind: 'connect' }>, 'started' | 'system' | 'replaces'>,
  project: string | null,
  { home }: Means,
): Promise<Change> {
  const path = configOf(client, { project, home, system })
  return changeOf(
    path,
    project,
    async (text) => (await withKiwi(text, client, { ...started, replaces }, path)).text,
  )
}

function outputOf(client: string | null, { state, path }: Change): string {
  if (client === null) return `${path} ${state === 'unchanged' ? 'stays as it is' : `is ${state}`}`
  return state === 'unchanged'
    ? `${client} is connected already: ${path} stays as it is`
    : `Connected ${client}: ${path} is ${state}`
}

function noClient(): KiwiError {
  return new KiwiError('INVALID_PARAMETERS', 'Cannot connect: no client is named', {
    hint: `Name one of ${CLIENTS.map((client) => client.name).join(', ')}; --agents-md alone writes AGENTS.md`,
    details: { missing: ['client'], invalid: [] },
  })
}

function projectOf({ projectPath }: Lookup): string {
  if (projectPath !== null) return projectPath
  throw new KiwiError('PROJECT_PATH_REQUIRED', 'Cannot connect a client here: no project folder is known')
}

/** A file that is to have another text. */
interface Change {
  /** With links followed: what a person links to stays linked. */
  readonly path: string
  readonly within: string | null
  readonly state: 'created' | 'changed' | 'unchanged'
  readonly before: string
  readonly text: string
}

async function changeOf(
  path: string,
  within: string | null,
  change: (text: string) => Promise<string>,
): Promise<Change> {
  const outside = within === null ? null : leadsOutTo(path, within)
  if (outside !== null) {
    throw new KiwiError(
      'PERMISSION_DENIED',
      `Cannot write "${path}": a link leads out of the project to "${outside}"`,
      {
        hint: 'Replace the link by a file of the project',
        details: { layer: 'machine', rule: 'inside-project', op: 'write', resource: outside },
      },
    )
  }
  const real = realPathOf(path)
  if (real === null) return { path, within, state: 'created', before: '', text: await change('') }
  const before = decodeText(readRegularFile(real, LIMITS.bundleBytes).bytes, path)
  const text = await change(before)
  return { path: real, within, state: text === before ? 'unchanged' : 'changed', before, text }
}

async function write({ path, within, state, before, text }: Change, { store }: Means): Promise<void> {
  const exclusively: Parameters<typeof rewriteFile>[1] = (work) => store.exclusively(work)
  if (state === 'changed') return rewriteFile({ path, within, before, text }, exclusively)
  if (state === 'unchanged') return
  const manifest = { path: basename(path), content: Buffer.from(text), isExecutable: false }
  const place = { id: basename(path), root: dirname(path), within, path: basename(path), isFolder: false }
  await writeItem({ ...place, manifest, files: [], replaces: 'nothing', isLibrary: true }, exclusively)
}

const MOST_COPIES = 100

/** Beside the file and with its mode: it may hold credentials of other servers. */
async function keepCopy(path: string, { clock }: Means): Promise<string> {
  const time = new Date(clock.now()).toISOString().replaceAll(/[-:]|\.\d+/g, '')
  // Two within a second are two copies.
  const names = Array.from({ length: MOST_COPIES }, (_, at) => (at === 0 ? '' : `-${at + 1}`))
  const copies = names.map((more) => `${path}.kiwi-${time}${more}.bak`)
  const copy = copies.find((name) => !existsSync(name)) ?? `${path}.kiwi-${time}.bak`
  try {
    await copyFile(path, copy, constants.COPYFILE_EXCL)
    return copy
  } catch (error) {
    throw new KiwiError('STORE_UNAVAILABLE', `Cannot keep a copy of "${path}": ${messageOf(error)}`, {
      hint: 'Make its folder writable; nothing was changed',
      cause: error,
    })
  }
}

/** What a model is told is knowledge that is shipped. */
async function snippet(lookup: Lookup): Promise<string> {
  const ref = { name: ItemName.parse('agents-md'), category: null, version: null }
  const [content] = (await (await lookup.find(ref, 'knowledge', 'builtin'))?.files()) ?? []
  return content === undefined ? '' : Buffer.from(content.content).toString('utf8')
}
