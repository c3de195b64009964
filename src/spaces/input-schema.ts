import type { JsonObject, JsonValue } from '../shared/json.ts'
import { isObject } from '../shared/json.ts'
import type { Manifest, Parameter } from './manifest.ts'

/** The parameters of an item as JSON Schema: the author's own schema as it is, else one made from the list. */
export function inputSchema(manifest: Manifest): JsonObject {
  if (manifest.input_schema !== undefined) return manifest.input_schema
  const required = manifest.parameters.filter((parameter) => parameter.required).map(({ name }) => name)
  return {
    type: 'object',
    properties: Object.fromEntries(
      manifest.parameters.map((parameter) => [parameter.name, propertyOf(parameter)]),
    ),
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: false,
  }
}

function propertyOf(parameter: Parameter): JsonObject {
  const { name: _name, required: _required, type, ...rest } = parameter
  const property: Record<string, JsonValue> = type === 'any' ? {} : { type }
  for (const [key, value] of Object.entries(rest)) {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the manifest was read from JSON
    if (value !== undefined) property[key] = value as JsonValue
  }
  return property
}

/** The names a template may use for parameters. */
export function parameterNames(manifest: Manifest): ReadonlySet<string> {
  const { properties } = inputSchema(manifest)
  return new Set(isObject(properties) ? Object.keys(properties) : [])
}
