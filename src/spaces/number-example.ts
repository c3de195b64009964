import type { JsonObject, JsonValue } from '../shared/json.ts'

/** A number within the bounds of its schema, 1 where it may be. */
export function numberExample(schema: JsonObject, nth: number): number {
  const { type, minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema
  const isWhole = type === 'integer' || (Array.isArray(type) && type.includes('integer'))
  const step = numberIn(multipleOf) ?? (isWhole ? 1 : null)
  const low = highest(numberIn(minimum), above(numberIn(exclusiveMinimum), isWhole))
  const high = lowest(numberIn(maximum), below(numberIn(exclusiveMaximum), isWhole))
  const wanted = lowest(highest(1 + nth, low), high) ?? 1
  // Where bounds are close to each other the middle lies between them.
  const middle = (least(schema) + most(schema)) / 2
  const value = low !== null && high !== null && high < low ? middle : wanted
  if (step === null || step <= 0) return value
  const up = Math.ceil(value / step) * step
  return high !== null && up > high ? Math.floor(value / step) * step : up
}

function numberIn(value: JsonValue | undefined): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null
}

function least({ minimum, exclusiveMinimum }: JsonObject): number {
  return highest(numberIn(minimum), numberIn(exclusiveMinimum)) ?? 0
}

function most({ maximum, exclusiveMaximum }: JsonObject): number {
  return lowest(numberIn(maximum), numberIn(exclusiveMaximum)) ?? 0
}

function above(bound: number | null, isWhole: boolean): number | null {
  return bound === null ? null : isWhole ? Math.floor(bound) + 1 : bound + 1
}

function below(bound: number | null, isWhole: boolean): number | null {
  return bound === null ? null : isWhole ? Math.ceil(bound) - 1 : bound - 1
}

function highest(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.max(a, b)
}

function lowest(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b)
}
