import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { JsonObject } from '../shared/json.ts'
import { compileTree, renderTree } from '../shared/template.ts'
import { sampleItem } from '../../test/fixtures/sample-item.ts'
import type { VariableGrant } from './variables.ts'
import { openVariables } from './variables.ts'

const SECRETS: Readonly<Record<string, string>> = {
  ALPHA: 'alpha-canary-0001',
  BETA: 'beta-canary-0002',
  GAMMA: 'gamma-canary-0003',
}
const item = sampleItem({ tool_id: 'tool', tool_type: 'api', executor: 'http_client' })
const name = fc.constantFrom(...Object.keys(SECRETS))
const piece = fc.oneof(
  name.map((variable) => `\${${variable}}`),
  name.map((variable) => `\${${variable}:-none}`),
  name.map((variable) => `\${${variable}:+some}`),
  fc.constantFrom('{p}', '{q}', '$', '{', '}', '$${', 'text', ':-', '\\'),
)
const written = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join(''))
const grant = (secret: string, digest: string): VariableGrant => ({
  tool: 'tool',
  digest,
  secret,
  sink: null,
})

test('ENV-01, ENV-02: whatever a template and its parameters say, no value appears that was not granted', () => {
  fc.assert(
    fc.property(
      fc.array(written, { maxLength: 4 }),
      fc.record({ p: written, q: fc.oneof(written, fc.array(written)) }),
      fc.subarray(Object.keys(SECRETS)),
      fc.subarray(Object.keys(SECRETS)),
      (texts, parameters: JsonObject, declared, granted) => {
        const grants = [
          ...granted.map((secret) => grant(secret, 'now')),
          ...Object.keys(SECRETS).map((secret) => grant(secret, 'before')),
        ]
        const means = {
          environment: SECRETS,
          values: new Map(Object.entries(SECRETS)),
          grants,
          projectPath: null,
        }
        const { optional } = openVariables({ item, secrets: new Set(declared), digest: 'now' }, means)
        let shown = ''
        try {
          const tree = compileTree(texts, new Set(['p', 'q']))
          const parameter = (key: string) => parameters[key]
          shown = JSON.stringify(
            renderTree(tree, { parameter, variable: (segment) => optional(segment, 'body') }),
          )
        } catch (error) {
          // A template that cannot be read, or one that asks for what was not granted: what it says is looked at too.
          shown = JSON.stringify([String(error), error])
        }
        for (const [secret, value] of Object.entries(SECRETS))
          if (!declared.includes(secret) || !granted.includes(secret)) expect(shown).not.toContain(value)
      },
    ),
    { numRuns: 2000 },
  )
})
