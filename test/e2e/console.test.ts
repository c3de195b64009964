import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { Browser, Page } from 'playwright-core'
import { chromium } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { textField } from '../fixtures/field.ts'
import type { Place } from '../fixtures/place.ts'
import { makePlace } from '../fixtures/place.ts'
import type { TempServer } from './temp-server.ts'
import { CLI, kiwi, startServer } from './temp-server.ts'

const HARNESS = `mode: direct
internal_tools:
  filesystem:
    enabled: true
    allowed_paths: ["\${PROJECT_PATH}"]
    require_approval: [write]
`

let place: Place
let server: TempServer
let browser: Browser
let agent: Client
beforeAll(async () => {
  place = makePlace()
  const config = join(place.env['KIWI_USER_SPACE'] ?? '', 'config')
  mkdirSync(config, { recursive: true })
  writeFileSync(join(config, 'agent_harness.yaml'), HARNESS)
  server = await startServer(place)
  agent = new Client({ name: 'agent', version: '1' }, { capabilities: {} })
  const requestInit = { headers: { Authorization: `Bearer ${server.token}` } }
  await agent.connect(new StreamableHTTPClientTransport(new URL(server.url), { requestInit }))
  browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
    ],
  })
}, 60_000)
afterAll(async () => {
  await browser.close()
  await agent.close()
  await server.stop()
  place.remove()
})

const write = (path: string, content: string) =>
  agent.callTool({
    name: 'execute',
    arguments: {
      item_type: 'tool',
      action: 'run',
      item_id: 'filesystem.write',
      parameters: { path, content },
      project_path: place.project,
    },
  })

/** The code of a link made at a terminal: there is no other way to one. */
function makeCode(): string {
  const script = 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)'
  const args = ['-c', script, process.execPath, CLI, 'approvals', '--link']
  const text = execFileSync('python3', args, { env: place.env, cwd: place.project, encoding: 'utf8' })
  return /#(\S+)/.exec(text)?.[1] ?? ''
}

async function openPage(code: string): Promise<Page> {
  const page = await browser.newPage()
  await page.goto(`${server.url.replace('/mcp', '/console')}#${code}`)
  return page
}

test('H9: a person sees what would be written, approves it in a browser, and the same call runs once', async () => {
  const asked = await write('note.txt', '<b>hello</b>\n')
  expect(asked.structuredContent).toMatchObject({ status: 'approval_required' })
  const page = await openPage(makeCode())
  await page.locator('article').waitFor()
  // Arguments are text: nothing of them becomes a part of the page.
  expect(await page.locator('pre').innerText()).toContain('+<b>hello</b>')
  expect(await page.locator('article b').count()).toBe(0)
  expect(page.url()).not.toContain('#')
  await page.getByRole('button', { name: 'Approve once' }).click()
  await page.getByText('Approved').waitFor()
  expect((await write('note.txt', '<b>hello</b>\n')).structuredContent).toMatchObject({ status: 'success' })
  expect(readFileSync(join(place.project, 'note.txt'), 'utf8')).toBe('<b>hello</b>\n')
  expect((await write('note.txt', '<b>hello</b>\n')).structuredContent).toMatchObject({
    status: 'approval_required',
  })
  await page.close()
}, 60_000)

test('H9: what is rejected there never runs, and the agent hears why', async () => {
  await write('other.txt', 'x')
  const page = await openPage(makeCode())
  const row = page.locator('article').filter({ hasText: 'other.txt' })
  await row.locator('input').fill('not now')
  await row.getByRole('button', { name: 'Reject' }).click()
  await row.getByText('Denied').waitFor()
  const { structuredContent } = await write('other.txt', 'x')
  expect(structuredContent).toMatchObject({ status: 'error', error: { code: 'APPROVAL_REJECTED' } })
  expect(JSON.stringify(structuredContent)).toContain('not now')
  expect(existsSync(join(place.project, 'other.txt'))).toBe(false)
  await page.close()
}, 60_000)

test('H9: what was answered elsewhere is said to wait no more, and takes no answer here', async () => {
  const asked = await write('elsewhere.txt', 'x')
  const id = textField(asked.structuredContent, 'data', 'approval_id')
  const page = await openPage(makeCode())
  const row = page.locator('article').filter({ hasText: 'elsewhere.txt' })
  await row.waitFor()
  const key = join(place.env['KIWI_USER_SPACE'] ?? '', 'kiwi.approver')
  expect(await kiwi(place, ['deny', id, '--key', key])).toMatchObject({ code: 0 })
  await row.getByText('It no longer waits').waitFor()
  expect(
    await row.getByRole('button').evaluateAll((all) => all.map((one) => one.matches(':disabled'))),
  ).toEqual([true, true, true])
  await page.close()
}, 60_000)

test('H9: a page whose server does not answer says so, loses no answer, and goes on when it does', async () => {
  await write('later.txt', 'x')
  const page = await openPage(makeCode())
  const row = page.locator('article').filter({ hasText: 'later.txt' })
  await row.waitFor()
  await page.route('**/console/**', (route) => route.abort())
  await page.locator('#state').getByText('Kiwi does not answer').waitFor()
  const reject = row.getByRole('button', { name: 'Reject' })
  await reject.click()
  await row.getByText('Kiwi does not answer').waitFor()
  await page.unroute('**/console/**')
  await page
    .locator('#state')
    .getByText(/waiting/)
    .waitFor()
  await reject.click()
  await row.getByText('Denied').waitFor()
  await page.close()
}, 60_000)

const post = (path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(server.url.replace('/mcp', `/console/${path}`), {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })

test('APR-04: the token of the endpoint, which agents hold, opens nothing here; a code opens it once', async () => {
  const bearer = { Authorization: `Bearer ${server.token}` }
  const choice = { id: 'x', decision: 'once', reason: '' }
  for (const path of ['approvals', 'decide']) expect((await post(path, choice, bearer)).status).toBe(401)
  const code = makeCode()
  expect((await post('enter', { code: `${code.slice(0, -1)}x` })).status).toBe(401)
  expect((await post('enter', { code })).status).toBe(200)
  expect((await post('enter', { code })).status).toBe(401)
})

test('APR-10: nothing but the page decides: no callback is there, GET changes nothing, other origins are refused', async () => {
  expect((await post('callback', { approved: true })).status).toBe(401)
  expect((await fetch(server.url.replace('/mcp', '/console/decide'))).status).toBe(404)
  expect((await post('enter', { code: makeCode() }, { Origin: 'https://evil.example' })).status).toBe(403)
  const page = await fetch(server.url.replace('/mcp', '/console'))
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
  expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
})
