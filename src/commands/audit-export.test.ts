import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { field, listField, textField } from '../../test/fixtures/field.ts'
import type { StoreFolder } from '../../test/fixtures/store-folder.ts'
import { makeStoreFolder } from '../../test/fixtures/store-folder.ts'
import { sampleRecord } from '../../test/fixtures/store-samples.ts'
import { canonicalJson, isObject, sha256 } from '../shared/json.ts'
import type { Store } from '../store/store.ts'
import { viewOf } from '../store/store.ts'
import { exportAudit } from './audit-export.ts'
import { openTerminal } from './terminal.ts'

let place: StoreFolder
let store: Store
let folder: string
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kiwi-export-'))
  place = await makeStoreFolder()
  store = await place.open()
})
afterEach(async () => {
  await place.dispose()
  rmSync(folder, { recursive: true })
})

const terminal = { ...openTerminal(), note: () => undefined }
/** The lines of an export of all records. */
async function exported(format: string, withArguments = false): Promise<readonly string[]> {
  const file = join(folder, 'out')
  expect(await exportAudit(viewOf(store), {}, { export: file, format, withArguments, terminal })).toBe(0)
  return readFileSync(file, 'utf8').trimEnd().split('\n')
}

const ODD = 'x\n{"seq":9}\u2028\u001B[2J|="\\'
const CANARY = 'argument-canary'
const said = {
  parameters: { path: CANARY },
  demands: [`read /${CANARY}`],
  path: `/${CANARY}`,
  rule: 'user/1',
  layer: 'user',
  caller: 'agent',
  protocol: '2026-07-28',
  tool: 'deploy',
}
const failure = { code: 'TOOL_FAILED', message: `Cannot read ${CANARY}`, duration_ms: 40 }

async function fill(): Promise<void> {
  await store.journal.append(
    [
      sampleRecord('c1', { tool: 'deploy', operation: 'execute.run', body: said }),
      sampleRecord('c1', { kind: 'outcome', status: 'error', operation: 'execute.run', body: failure }),
      sampleRecord('c2', {
        operation: 'search',
        tool: CANARY,
        session: 's2',
        parent_session: 's1',
        body: said,
      }),
      sampleRecord('c2', {
        kind: 'outcome',
        operation: 'search',
        tool: CANARY,
        status: 'success',
        session: 's2',
      }),
      sampleRecord('c3', { tool: ODD, principal: ODD, operation: ODD, body: {} }),
    ],
    'normal',
  )
}

const attributesOf = (span: unknown): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    listField(span, 'attributes').map((attribute) => [
      textField(attribute, 'key'),
      field(attribute, 'value', 'stringValue') ?? Number(field(attribute, 'value', 'intValue')),
    ]),
  )
const spansOf = async (withArguments = false): Promise<readonly unknown[]> =>
  (await exported('otel', withArguments)).flatMap((line) =>
    listField(JSON.parse(line), 'resourceSpans', 0, 'scopeSpans', 0, 'spans'),
  )

test('AUD-10: a call is one span with the attributes of MCP and of tools', async () => {
  await fill()
  const [first, second, third] = await spansOf()
  expect(attributesOf(first)).toMatchObject({
    'mcp.method.name': 'tools/call',
    'mcp.session.id': 's1',
    'mcp.protocol.version': '2026-07-28',
    'gen_ai.tool.name': 'deploy',
    'error.type': 'TOOL_FAILED',
    'kiwi.rule': 'user/1',
    'kiwi.seq': 2,
  })
  expect(first).toMatchObject({
    name: 'tools/call deploy',
    traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
    spanId: expect.stringMatching(/^[0-9a-f]{16}$/),
    startTimeUnixNano: '1759999999960000000',
    endTimeUnixNano: '1760000000000000000',
    status: { code: 2 },
  })
  // A session that came from another belongs to its trace.
  expect(field(second, 'traceId')).toBe(field(first, 'traceId'))
  expect(attributesOf(second)).not.toHaveProperty('error.type')
  expect(attributesOf(third)).toMatchObject({ 'gen_ai.tool.name': ODD })
})

test('AUD-10: OCSF events are of the class API Activity, and each proves the one before it', async () => {
  await fill()
  const events = (await exported('ocsf')).map((line): unknown => JSON.parse(line))
  expect(events[0]).toMatchObject({
    class_uid: 6003,
    category_uid: 6,
    activity_id: 99,
    type_uid: 600_399,
    status_id: 2,
    status_code: 'TOOL_FAILED',
    time: 1_759_999_999_960,
    metadata: { version: '1.9.0', uid: 'c1', profiles: ['ai_operation', 'record_integrity'] },
    actor: { user: { name: 'local' }, session: { uid: 's1' } },
    ai_agent: { uid: 'local', instance_uid: 's1' },
    api: { operation: 'execute.run' },
    src_endpoint: { hostname: expect.any(String) },
  })
  expect(events[1]).toMatchObject({ activity_id: 2, type_uid: 600_302, status_id: 1 })
  expect(events[2]).toMatchObject({ status_id: 0 })
  let before: unknown = undefined
  for (const event of events) {
    const attestation = field(event, 'attestation_list', 0)
    if (!isObject(event) || !isObject(attestation)) throw new TypeError('an event without its attestation')
    const { fingerprint, ...rest } = attestation
    expect(field(fingerprint, 'value')).toBe(sha256(canonicalJson({ ...event, attestation_list: [rest] })))
    expect(field(rest, 'prev_event', 'fingerprint')).toEqual(before)
    before = fingerprint
  }
})

test('AUD-05: CEF has one line a record, in which nothing is forged', async () => {
  await fill()
  const lines = await exported('cef', true)
  expect(lines).toHaveLength(5)
  for (const line of lines) {
    expect(line).toMatch(/^CEF:0\|Kiwi\|Kiwi MCP\|[\d.]+(?:\|(?:[^|\\]|\\.)+){2}\|\d\|rt=\d+ [ -~]+$/)
  }
  expect(lines[4]).toContain(String.raw`suser=x\n{"seq":9}\n?[2J|\="\\ `)
})

test('H7, AUD-05: JSONL has every field of a record in one line', async () => {
  await fill()
  const lines = await exported('jsonl', true)
  expect(lines).toHaveLength(5)
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ seq: 1, call_id: 'c1', parameters: { path: CANARY } })
  expect(lines[4]).toMatch(/^[ -~]+$/)
  expect(JSON.parse(lines[4] ?? '')).toMatchObject({ tool: ODD })
})

describe('AUD-10: what calls were given is exported only when it is asked for', () => {
  test.each(['jsonl', 'otel', 'ocsf', 'cef'])('%s', async (format) => {
    await fill()
    expect((await exported(format)).join('\n')).not.toContain(CANARY)
    expect((await exported(format, true)).join('\n')).toContain(CANARY)
  })
})

test('AUD-10: a long journal is exported to its end', async () => {
  const records = Array.from({ length: 1201 }, (_, n) => sampleRecord(`c${n}`))
  await store.journal.append(records, 'normal')
  expect(await exported('jsonl')).toHaveLength(1201)
  expect(await spansOf()).toHaveLength(1201)
})

test('AUD-10: a file is written whole or not at all, and only its owner reads it', async () => {
  await fill()
  await exported('jsonl')
  expect(statSync(join(folder, 'out')).mode & 0o777).toBe(0o600)
  const nowhere = join(folder, 'missing/out')
  const failed = exportAudit(viewOf(store), {}, { export: nowhere, terminal })
  await expect(failed).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  expect(existsSync(nowhere)).toBe(false)
  const unknown = exportAudit(viewOf(store), {}, { export: '-', format: 'xml', terminal })
  await expect(unknown).rejects.toMatchObject({
    code: 'INVALID_PARAMETERS',
    hint: expect.stringContaining('otel'),
  })
  expect(readdirSync(folder)).toEqual(['out'])
})
