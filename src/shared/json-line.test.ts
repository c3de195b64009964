import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonLine } from './json-line.ts'

test('AUD-05: whatever a value holds, it is one line that comes back as it went in', () => {
  fc.assert(
    fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
      const line = jsonLine(value)
      expect(line.split(/\r\n|[\n\r\u0085\u2028\u2029]/)).toHaveLength(1)
      expect(JSON.parse(line)).toEqual(JSON.parse(JSON.stringify(value)))
    }),
  )
})

test.each(['\n', '\u001B[2J', '\u009B2J', '\u2028', '\u2029', '\u202E', '\u007F', '\0'])(
  'AUD-05: %j is escaped',
  (sign) => {
    const line = jsonLine({ tool: `a${sign}b` })
    expect(line).toMatch(/^[ -~]+$/)
    expect(JSON.parse(line)).toEqual({ tool: `a${sign}b` })
  },
)
