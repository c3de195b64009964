import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { META_TOOLS, argumentNames } from '../../src/meta/arguments.ts'
import { errorReply, outcomeReply, successReply } from '../../src/meta/reply.ts'
import { INSTRUCTIONS, TOOLS } from '../../src/meta/tools.ts'
import { ERRORS, KiwiError } from '../../src/shared/errors.ts'
import { VERSION } from '../../src/shared/version.ts'
import { field } from '../fixtures/field.ts'

/*
 * What others can see. A red pin means: decide, write the line in CHANGELOG.md, then change the pin.
 */

test('S1: the four tools together stay under 2,560 bytes', () => {
  const answer = { jsonrpc: '2.0', id: 1, result: { tools: TOOLS } }
  expect(Buffer.byteLength(JSON.stringify(answer))).toBeLessThanOrEqual(2560)
})

test('the wire schemas and the readers of the arguments name the same arguments', () => {
  for (const { name, inputSchema } of TOOLS) {
    expect(Object.keys(inputSchema['properties'] ?? {}).toSorted()).toEqual(argumentNames(name).toSorted())
  }
  expect(TOOLS.map(({ name }) => name)).toEqual(META_TOOLS)
})

test('the arguments of the four tools', () => {
  expect(Object.fromEntries(META_TOOLS.map((tool) => [tool, argumentNames(tool)]))).toEqual({
    search: [
      'query',
      'item_type',
      'source',
      'limit',
      'tool_type',
      'category',
      'tags',
      'server',
      'sort_by',
      'project_path',
    ],
    load: [
      'item_type',
      'item_id',
      'source',
      'destination',
      'version',
      'overwrite',
      'depth',
      'path',
      'offset',
      'limit',
      'project_path',
    ],
    execute: ['item_type', 'action', 'item_id', 'parameters', 'version', 'run_id', 'dry_run', 'project_path'],
    help: ['topic', 'error_code', 'item_id', 'project_path'],
  })
})

test('the instructions fit, and their first lines make sense alone', () => {
  expect(Buffer.byteLength(INSTRUCTIONS)).toBeLessThan(2048)
  expect(INSTRUCTIONS.slice(0, 512)).toContain('search')
})

test('S14: the codes, their exit codes, and whether trying again can help', () => {
  expect(
    Object.entries(ERRORS).map(
      ([code, { exit, retryable }]) => `${code} ${exit}${retryable ? ' retryable' : ''}`,
    ),
  ).toEqual([
    'UNKNOWN_ITEM_TYPE 2',
    'UNKNOWN_ACTION 2',
    'UNKNOWN_ARGUMENT 2',
    'INVALID_PARAMETERS 2',
    'MISSING_INPUTS 2',
    'INVALID_MANIFEST 2',
    'INVALID_CONFIG 2',
    'PARSE_ERROR 2',
    'TOO_DEEP 2',
    'MESSAGE_TOO_LARGE 2',
    'SCHEMA_TOO_COSTLY 2',
    'CONFIRM_REQUIRED 2',
    'PROJECT_PATH_REQUIRED 2',
    'NO_PRIMITIVE 2',
    'EXECUTOR_CYCLE 2',
    'EXECUTOR_TOO_DEEP 2',
    'EXECUTOR_MISSING 3',
    'NOT_FOUND 3',
    'AMBIGUOUS_ID 2',
    'VERSION_EXISTS 4',
    'CONFLICT 4',
    'BUILTIN_PROTECTED 4',
    'RESERVED_ID 4',
    'CONTENT_MODIFIED 4',
    'UNTRUSTED 4',
    'QUARANTINED 4',
    'LOGIN_REQUIRED 4',
    'OAUTH_MISMATCH 4',
    'VALIDATION_FAILED 4',
    'DEPENDENCY_REFUSED 4',
    'DEPENDENCY_UNAVAILABLE 6 retryable',
    'PERMISSION_DENIED 4',
    'POLICY_ERROR 4',
    'RATE_LIMITED 6 retryable',
    'BUDGET_EXCEEDED 4',
    'APPROVAL_REJECTED 4',
    'APPROVAL_TIMEOUT 4',
    'APPROVAL_USED 4',
    'APPROVAL_MISMATCH 4',
    'SECRET_BLOCKED 4',
    'SECRET_NOT_GRANTED 4',
    'MISSING_SECRET 4',
    'SECRET_UNAVAILABLE 5',
    'EGRESS_DENIED 4',
    'SANDBOX_UNAVAILABLE 4',
    'COMMAND_NOT_FOUND 3',
    'COMMAND_NOT_EXECUTABLE 4',
    'TOOL_FAILED 5',
    'HTTP_STATUS 5',
    'OUTCOME_UNKNOWN 5',
    'CANCELLED 5',
    'TIMEOUT 6 retryable',
    'UPSTREAM_UNAVAILABLE 6 retryable',
    'OVERLOADED 6 retryable',
    'STORE_FULL 6 retryable',
    'STORE_UNAVAILABLE 6 retryable',
    'AUDIT_UNAVAILABLE 6 retryable',
    'PORT_IN_USE 6 retryable',
    'INTERNAL 70',
  ])
})

test('S15: the reply has four keys in this order, whatever happened', () => {
  const stamp = { call_id: '01J', duration_ms: 3 }
  const outcome = {
    status: 'success',
    data: { output: 1 },
    itemId: 'x',
    action: 'run',
    chain: ['x'],
    warnings: ['w'],
  } as const
  expect(JSON.stringify(successReply({ a: 1 }, stamp))).toBe(
    '{"status":"success","data":{"a":1},"error":null,"metadata":{"call_id":"01J","duration_ms":3}}',
  )
  expect(JSON.stringify(outcomeReply(outcome, stamp))).toBe(
    '{"status":"success","data":{"output":1},"error":null,"metadata":{"call_id":"01J","duration_ms":3,"executor_chain":["x"],"item_id":"x","action":"run","warnings":["w"]}}',
  )
  const error = new KiwiError('NOT_FOUND', 'Cannot find "x"', {
    fix: { call: 'search', arguments: { query: 'x' } },
  })
  expect(JSON.stringify(errorReply(error, stamp))).toBe(
    '{"status":"error","data":null,"error":{"code":"NOT_FOUND","message":"Cannot find \\"x\\"","hint":"Call search to find what there is","fix":{"call":"search","arguments":{"query":"x"}},"retryable":false,"details":{}},"metadata":{"call_id":"01J","duration_ms":3}}',
  )
})

test('an error that is not ours becomes a typed one, with its cause kept', () => {
  expect(errorReply(new TypeError('oops'), { call_id: '01J', duration_ms: 3 })).toMatchObject({
    error: { code: 'INTERNAL' },
  })
})

test('the version is that of the package', () => {
  const manifest: unknown = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'))
  expect(VERSION).toBe(field(manifest, 'version'))
})
