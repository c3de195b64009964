import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { expectClient } from './report.ts'
import { failuresAmong, requiredScenarios, runSuite } from './run-suite.ts'

const CLIENT = join(import.meta.dirname, 'kiwi-client.mjs')
const BUNDLE = pathToFileURL(join(import.meta.dirname, '../../dist/index.js')).href

/** What no revision requires and Kiwi promises. */
const WANTED = ['auth/client-credentials-basic', 'json-schema-2020-12-preservation']

test.each(['2025-11-25', '2026-07-28'] as const)(
  'X1, X2: Kiwi as a client passes what the revision %s asks of one',
  { timeout: 900_000 },
  async (revision) => {
    const turns = mkdtempSync(join(tmpdir(), 'kiwi-turns-'))
    try {
      const command = `${process.execPath} ${CLIENT} ${BUNDLE}`
      const args = ['--command', command, '--requirements', revision, '--timeout', '900000']
      const ends = await runSuite('client', args, { KIWI_TURNS: turns })
      const required = requiredScenarios(revision, 'client')
      expect(failuresAmong([...required, ...WANTED], ends)).toEqual([])
      expectClient('through the four tools', revision, `${required.length}/${required.length}`)
    } finally {
      rmSync(turns, { recursive: true, force: true })
    }
  },
)
