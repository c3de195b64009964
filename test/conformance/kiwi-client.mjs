/** A client of the conformance suite that is Kiwi: the address it is given is a server behind the four tools. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

const SLOTS = 2
const [, , bundle, url] = process.argv
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? ''
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}')
/** The suite starts all clients at once; here a few work at a time, so that none runs out of time for want of a processor. */
const slot = await takeTurn(process.env.KIWI_TURNS ?? mkdtempSync(join(tmpdir(), 'kiwi-turns-')))
const { loadConfig, openKiwi } = await import(bundle)

const folder = mkdtempSync(join(tmpdir(), 'kiwi-client-'))
const project = join(folder, 'project')
const user = join(folder, 'user')
mkdirSync(project)
mkdirSync(join(user, 'config'), { recursive: true })
writeFileSync(join(user, 'kiwi.json'), JSON.stringify({ allow_hosts: ['localhost', '127.0.0.1'] }))
const auth = {
  type: 'oauth',
  client_id: context.client_id ?? 'https://conformance-test.local/client-metadata.json',
  ...(context.client_secret === undefined ? {} : { client_secret: context.client_secret }),
  ...(scenario === 'auth/client-credentials-basic' ? { flow: 'client_credentials' } : {}),
}
const server = { url, startup_timeout: 60, ...(scenario.startsWith('auth/') ? { auth } : {}) }
writeFileSync(join(user, 'config/mcp_registry.yaml'), JSON.stringify({ mcps: { suite: server } }))

const kiwi = await openKiwi(
  loadConfig({ PATH: process.env.PATH, HOME: folder, KIWI_USER_SPACE: user, KIWI_LOG_LEVEL: 'silent' }),
)
const common = { session: 'suite', defaultProject: async () => project }
const agent = {
  ...common,
  principal: 'local',
  kind: 'agent',
  capabilities: { elicitation: { form: {} }, sampling: {}, roots: {} },
  ask: async (asked) => answer(asked),
}
const person = { ...common, principal: 'user:suite', kind: 'person' }

async function takeTurn(turns) {
  for (let at = 0; ; at = (at + 1) % SLOTS) {
    try {
      mkdirSync(join(turns, String(at)))
      return join(turns, String(at))
    } catch {
      await delay(100)
    }
  }
}

/** What a person's client answers: yes, with the defaults of what was not filled in. */
function answer({ method, params }) {
  if (method === 'roots/list') return { roots: [] }
  if (method !== 'elicitation/create') throw new Error(`nobody answers ${method}`)
  const fields = Object.entries(params.requestedSchema?.properties ?? {})
  const content = fields.map(([name, { default: usual, type }]) => [
    name,
    usual ?? (type === 'boolean' ? true : ''),
  ])
  return { action: 'accept', content: Object.fromEntries(content) }
}

/** A person who logs in: opens the page, and is led to the answer. */
async function logIn() {
  const show = async (address) => {
    const page = await fetch(address, { redirect: 'manual' })
    const next = page.headers.get('location')
    if (next !== null) await fetch(next)
  }
  const reply = await kiwi.act(
    {
      wish: () => ({
        kind: 'login',
        ref: { name: 'suite', category: null, version: null },
        principal: '*',
        page: { opensBrowser: false, show: (address) => void show(address).catch(() => {}) },
      }),
      operation: 'login',
      subject: 'suite',
    },
    person,
  )
  if (reply.error !== null) throw new Error(`${reply.error.code} ${reply.error.message}`)
}

const MOST_LOGINS = 5

/** Calls one of the four tools, and logs in as long as that is asked for and brings something. */
async function call(tool, args) {
  for (let logins = 0; ; logins++) {
    const reply = await kiwi.call(tool, args, agent)
    process.stderr.write(`${args.item_id} ${reply.error?.message ?? reply.status}\n`)
    const said = [reply.error?.code, ...(reply.metadata.warnings ?? [])].join(' ')
    if (!/LOGIN_REQUIRED|kiwi login/.test(said) || logins === MOST_LOGINS) return reply
    await logIn()
  }
}

/** Arguments that a schema accepts; a tool that wants a schema gets that of the first tool, as it was shown. */
function argumentsFor(schema, [first]) {
  const values = { string: 'text', integer: 1, number: 1, boolean: true, array: [], object: {}, null: null }
  const entries = Object.entries(schema.properties ?? {})
  return Object.fromEntries(
    entries.map(([name, { type }]) => [
      name,
      name === 'schema' ? first.inputSchema : (values[type] ?? 'text'),
    ]),
  )
}

/** No schema of the suite lets a parameter be null: one that is not given is left out. */
const withoutNulls = (given) =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null))

const run = (name, parameters) =>
  call('execute', { item_type: 'tool', action: 'run', item_id: `suite.${name}`, parameters })

try {
  const loaded = await call('load', { item_type: 'mcp', item_id: 'suite' })
  const tools = loaded.data?.tools ?? []
  const calls =
    context.toolCalls ??
    tools.map(({ name, inputSchema }) => ({ name, arguments: argumentsFor(inputSchema, tools) }))
  for (const { name, arguments: given } of calls) await run(name, withoutNulls(given))
} finally {
  await kiwi.close()
  rmSync(folder, { recursive: true, force: true })
  rmSync(slot, { recursive: true, force: true })
}
