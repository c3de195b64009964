import type { JsonObject, JsonValue } from '../../shared/json.ts'
import { isJsonObject } from '../../shared/json.ts'
import { textOf } from '../../shared/template.ts'
import type { Element } from './element.ts'
import { capability, elementsOf, grantsOf } from './from-data.ts'
import type { DeclaredInput } from './inputs.ts'
import { readInputs } from './inputs.ts'
import { normalLimits } from './limits.ts'
import type { Directive, Relation } from './model.ts'
import { openNotes } from './note.ts'
import { noteUnfilled } from './placeholders.ts'
import type { Position } from './position.ts'
import { skillTools } from './skill-tools.ts'
import type { PlacedStep } from './steps.ts'
import { noteTwins, stepOfData } from './steps.ts'
import { readWanted } from './wanted.ts'

interface MatterOrigin {
  readonly where: string
  readonly stem: string
  readonly body: string
  readonly at: (path: readonly PropertyKey[]) => Position
  readonly isSkill: boolean
}

/** Keys that only a directive has: with one of them the front matter is the directive, whatever its text looks like. */
export const OWN_KEYS = 'inputs permissions requires steps tools mcps outputs limits model hooks extends context'.split(' ')

/** The model of a directive in front matter, with its instructions below. */
export function fromMatter(given: JsonObject, origin: MatterOrigin): Directive {
  const { where, stem, body, at, isSkill } = origin
  const { note, findings } = openNotes()
  const { name, version, description, category, extends: base, ...own } = given
  const { inputs, steps = [], tools, mcps, permissions: _p, requires: _r, limits, relationships, ...more } = own
  const placed = (Array.isArray(steps) ? steps : [steps]).map(
    (step, index): PlacedStep => ({
      step: stepOfData(step, at(['steps', index]), note),
      place: at(['steps', index]),
    }),
  )
  noteTwins(placed, note)
  const declared = readInputs(declaredInputs(inputs, at), where, note)
  noteUnfilled(placed, declared, note)
  const sections = (['tools', 'mcps'] as const).flatMap((key): readonly Element[] => {
    const section = key === 'tools' ? tools : mcps
    return section === undefined ? [] : [section_(key, elementsOf(section, at, [key]), at([key]))]
  })
  return {
    name: name === undefined || name === null ? stem : textOf(name),
    version: version === undefined || version === null ? '0.0.0' : textOf(version),
    description: textOf(description).replaceAll(/\s+/g, ' ').trim(),
    category: typeof category === 'string' ? category : null,
    dialect: isSkill ? 'skill' : 'yaml',
    extends: typeof base === 'string' && base !== '' ? base : null,
    inputs: declared,
    steps: placed.map(({ step }) => step),
    body: body.trim(),
    permissions: permissionsOf(given, at),
    wanted: isSkill
      ? skillTools(given['allowed-tools'] ?? null, at(['allowed-tools']), note)
      : readWanted(sections, note),
    relations: relationsOf(relationships ?? null),
    limits: isJsonObject(limits ?? null) ? normalLimits(limits as JsonObject) : {},
    more,
    findings,
  }
}

function section_(name: string, children: readonly Element[], place: Position): Element {
  return { name, attributes: {}, children, text: '', inner: '', ...place }
}

/** What it grants itself, and what another system calls capabilities; null when it says neither. */
export function permissionsOf(given: JsonObject, at: MatterOrigin['at']): Element | null {
  const { permissions, requires } = given
  const capabilities = isJsonObject(requires ?? null) ? (requires as JsonObject)['capabilities'] : undefined
  const declared = isJsonObject(capabilities ?? null) ? (capabilities as JsonObject)['declared'] : undefined
  if ((permissions === undefined || permissions === null) && !Array.isArray(declared)) return null
  const own =
    permissions === undefined || permissions === null
      ? []
      : isJsonObject(permissions)
        ? grantsOf(permissions, at, ['permissions'])
        : elementsOf(permissions, at, ['permissions'])
  const path = ['requires', 'capabilities', 'declared']
  const foreign = (Array.isArray(declared) ? declared : []).map((text, index) =>
    capability(textOf(text), at([...path, index])),
  )
  return section_('permissions', [...own, ...foreign], at(['permissions']))
}

/** A list with one entry for each, or a description to each name. */
function declaredInputs(given: JsonValue | undefined, at: MatterOrigin['at']): readonly DeclaredInput[] {
  if (given === undefined || given === null) return []
  if (isJsonObject(given)) {
    return Object.entries(given).map(([name, one]) => ({
      given: isJsonObject(one) ? { name, ...one } : { name, description: textOf(one) },
      place: at(['inputs', name]),
    }))
  }
  return (Array.isArray(given) ? given : [given]).map((one, index) => ({
    given: isJsonObject(one) ? one : { name: textOf(one) },
    place: at(['inputs', index]),
  }))
}

const RELATIONS = ['requires', 'suggests', 'extends', 'related'] as const

function relationsOf(given: JsonValue): readonly Relation[] {
  if (!isJsonObject(given)) return []
  return RELATIONS.flatMap((kind) => {
    const named = given[kind] ?? []
    return (Array.isArray(named) ? named : [named]).map((one) => ({ kind, directive: textOf(one) }))
  })
}
