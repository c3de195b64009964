import { describeFindings, openSchemas } from '../chain/schemas.ts'
import { messageOf } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'

export type OwnSchema = (schema: JsonObject, value: JsonObject) => Promise<string | null>

/** Holds what an item says against a schema of its own. A schema that cannot be used is a finding, too. */
export function openOwnSchema(): OwnSchema {
  const schemas = openSchemas()
  return async (schema, value) => {
    try {
      const check = await schemas.compile(schema, 'its schema')
      // Checking fills in defaults.
      const found = check(structuredClone(value))
      return found === null ? null : `against its own schema: ${describeFindings(found)}`
    } catch (error) {
      return messageOf(error)
    }
  }
}
