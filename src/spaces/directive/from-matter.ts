import type { JsonObject, JsonValue } from '../../shared/json.ts'
import { isJsonObject } from '../../shared/json.ts'
import { textOf } from '../../shared/template.ts'
import type { Element } from './element.ts'
import type { Reading } from './formed.ts'
import { formed, pairsForm, textForm } from './formed.ts'
import { capabilitiesIn, DECLARED, elementsOf, grantsOf } from './from-data.ts'
import type { DeclaredInput } from './inputs.ts'
import { readInputs } from './inputs.ts'
import { normalLimits } from './limits.ts'
import type { Directive } from './model.ts'
import type { Note } from './note.ts'
import { meant, openNotes } from './note.ts'
import { noteUnfilled } from './placeholders.ts'
import { parseFault } from './parse-fault.ts'
import type { Position } from './position.ts'
import { relationsOf } from './relations.ts'
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
export function ownKeysIn(given: JsonObject): readonly string[] {
  return OWN_KEYS.filter((key) => given[key] !== undefined)
}

const OWN_KEYS =
  'inputs permissions requires steps tools mcps outputs limits model hooks extends context'.split(' ')

/** The model of a directive in front matter, with its instructions below. */
export function fromMatter(given: JsonObject, origin: MatterOrigin): Directive {
  const { where, stem, body, at, isSkill } = origin
  const { note, findings } = openNotes()
  const { name, version, description, category, extends: base, ...own } = given
  const { inputs, steps, tools, mcps, permissions, requires, limits, relationships, ...more } = own
  noteKeys(more, at, note)
  // What a skill says in words of its own is for other readers, and nothing that could stop it.
  const wrong: Reading['wrong'] = (path, reason, hint) => {
    if (!isSkill) throw parseFault(where, reason, at(path), { hint })
    note(at(path), `${reason}: kept, without effect`)
  }
  const reading: Reading = { at, note, wrong }
  const placed = entriesOf(steps).map((step, index): PlacedStep => {
    const place = at(['steps', index])
    return { step: stepOfData(step, place, note), place }
  })
  noteTwins(placed, note)
  const declared = readInputs(declaredInputs(inputs, at), where, note)
  noteUnfilled(placed, declared, note)
  entriesOf(steps).forEach((step, index) => noteUnquoted(step, declared, at(['steps', index]), note))
  const wanted = [
    section('tools', elementsOf(tools ?? [], at, ['tools']), at(['tools'])),
    section('mcps', elementsOf(mcps ?? [], at, ['mcps']), at(['mcps'])),
  ]
  return {
    name: textOf(name ?? stem),
    version: textOf(version ?? '0.0.0'),
    description: textOf(description).replaceAll(/\s+/g, ' ').trim(),
    category: typeof category === 'string' ? category : null,
    dialect: isSkill ? 'skill' : 'yaml',
    extends: formed(base, textForm, EXTENDS, reading),
    inputs: declared,
    steps: placed.map(({ step }) => step),
    body: body.trim(),
    permissions: permissionsOf(permissions ?? null, capabilitiesIn(requires, reading), at),
    wanted: isSkill
      ? skillTools(given['allowed-tools'] ?? null, at(['allowed-tools']), note)
      : readWanted(wanted, where, note),
    relations: relationsOf(relationships, reading),
    limits: normalLimits(Object.fromEntries(formed(limits, pairsForm, LIMITS_AT, reading) ?? [])),
    more,
    findings,
  }
}

const EXTENDS = { path: ['extends'], takes: 'the name of one directive', write: 'extends: other' }
const LIMITS_AT = { path: ['limits'], takes: 'numbers by name', write: 'limits: {turns: 20}' }
const COMMON_KEYS = 'name version description category relationships author tags license metadata'.split(' ')
const KEYS: readonly string[] = [...OWN_KEYS, ...COMMON_KEYS, 'allowed-tools', 'compatibility']

/** Any key may stand there for whoever reads it; of one that is nearly a key of ours, that is said. */
export function noteKeys(given: JsonObject, at: MatterOrigin['at'], note: Note): void {
  for (const key of Object.keys(given).filter((one) => !KEYS.includes(one))) {
    const probably = meant(key, KEYS, (name) => `"${name}"`)
    if (probably !== '') note(at([key]), `"${key}" is not known: kept, without effect${probably}`)
  }
}

/** `path: {x}` is a mapping to YAML, and no placeholder. */
function noteUnquoted(value: JsonValue, inputs: Directive['inputs'], place: Position, note: Note): void {
  if (typeof value !== 'object' || value === null) return
  const [[name, inner] = [], ...others] = Object.entries(value)
  if (inner === null && others.length === 0 && inputs.some((input) => input.name === name))
    note(place, `{${name}} is not in quotes, and so no placeholder: write "{${name}}"`)
  for (const one of Object.values(value)) noteUnquoted(one, inputs, place, note)
}

function entriesOf(given: JsonValue | undefined): readonly JsonValue[] {
  if (given === undefined || given === null) return []
  return Array.isArray(given) ? given : [given]
}

function section(name: string, children: readonly Element[], place: Position): Element {
  return { name, attributes: {}, children, text: '', inner: '', isData: true, ...place }
}

/** What it grants itself, and what another system calls capabilities; null when it says neither. */
export function permissionsOf(
  permissions: JsonValue,
  capabilities: readonly Element[] | null,
  at: MatterOrigin['at'],
): Element | null {
  if (permissions === null && capabilities === null) return null
  const own = isJsonObject(permissions)
    ? grantsOf(permissions, at, ['permissions'])
    : elementsOf(entriesOf(permissions), at, ['permissions'])
  const place = at(permissions === null ? DECLARED : ['permissions'])
  return section('permissions', [...own, ...(capabilities ?? [])], place)
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
  return entriesOf(given).map((one, index) => ({
    given: isJsonObject(one) ? one : { name: textOf(one) },
    place: at(['inputs', index]),
  }))
}
