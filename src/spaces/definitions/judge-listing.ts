import { KiwiError } from '../../shared/errors.ts'
import { textOf } from '../../shared/template.ts'
import type { JsonObject } from '../../shared/json.ts'
import { assertPlain, isJsonObject } from '../../shared/json.ts'
import { visible } from '../../shared/visible.ts'
import type { CatalogTool, QuarantineReason } from '../../store/catalog.ts'
import { pinOf } from './pin.ts'
import type { OtherServer } from './references.ts'
import type { Scan } from './scan-definition.ts'
import { isDamning } from './scan-definition.ts'

export interface ListingTerms {
  /** The first listing of this upstream: what it holds is what a person configured. */
  readonly isBaseline: boolean
  /** A person, or a publisher they accept, stands behind the server item. */
  readonly isVouched: boolean
  /** How the upstream is reached. */
  readonly key: string
  readonly otherServers: readonly OtherServer[]
  /** One for each listing. */
  readonly scan: Scan
}

const LONGEST_NAME = 128
/** What a model may be told to call: the part behind the dot of an id. */
const TOOL_NAME = /^[A-Za-z0-9_.-]{1,128}$/

/**
 * What an upstream lists, beside what it listed before. What a person or the first listing let pass stays usable for as
 * long as it is the same; what is new, changed or suspicious waits for a person; what is gone is remembered.
 */
export function judgeListing(
  before: readonly CatalogTool[],
  raw: readonly JsonObject[],
  terms: ListingTerms,
): readonly CatalogTool[] {
  const known = new Map(before.map((tool) => [tool.name, tool]))
  const listed = new Map<string, CatalogTool>()
  const names = raw.map(({ name }) => (typeof name === 'string' ? name : ''))
  const around = { own: new Set(names), others: terms.otherServers }
  // A server that had nothing to offer, perhaps before somebody logged in, has no baseline yet.
  const isBaseline = terms.isBaseline || before.length === 0
  const beside = { isBaseline, around, alike: lookAlikes(around.own) }
  for (const [at, definition] of raw.entries()) {
    const fault = faultOf(definition)
    const given = names[at] ?? ''
    // A name that is none may say anything, and is shown to nobody but a person.
    const name = TOOL_NAME.test(given) ? given : `#${at + 1}`
    const twin = listed.get(name)
    const row =
      fault === null
        ? judgeTool(definition, known.get(name), terms, beside)
        : unusable(definition, name, fault, known.get(name))
    // Never the first and never the last: which of two is meant nobody can know.
    if (twin === undefined) listed.set(name, row)
    else if (twin.pin !== row.pin)
      listed.set(name, unusable(definition, name, 'it is listed twice', known.get(name)))
  }
  const gone = before
    .filter(({ name }) => !listed.has(name))
    .map((tool) => ({ ...tool, state: 'missing' as const }))
  return [...listed.values(), ...gone.map((tool) => ({ ...tool, reason: null }))]
}

interface Beside {
  readonly isBaseline: boolean
  readonly around: Parameters<Scan>[1]
  /** Names that another name of the listing can be taken for. */
  readonly alike: ReadonlyMap<string, string>
}

function judgeTool(
  raw: JsonObject,
  before: CatalogTool | undefined,
  terms: ListingTerms,
  { isBaseline, around, alike }: Beside,
): CatalogTool {
  const { key } = terms
  const name = textOf(raw['name'])
  const pin = pinOf(raw, key)
  const approved = before?.approved ?? null
  // What was let pass was looked at then.
  if (approved !== null && pinOf(approved, key) === pin) {
    const findings = before?.pin === pin ? before.findings : []
    return { name, raw, pin, state: 'usable', reason: null, findings, approved }
  }
  const twin = alike.get(name)
  const found = [
    ...terms.scan(raw, around),
    ...(twin === undefined
      ? []
      : [{ kind: 'look-alike', says: `its name looks like "${twin}"`, isAlone: true }]),
  ]
  const reason =
    approved === null
      ? reasonOf(before, { ...terms, isBaseline, pin, isDamned: isDamning(found) })
      : 'changed'
  return {
    name,
    raw,
    pin,
    state: reason === null ? 'usable' : 'quarantined',
    reason,
    findings: found.map(({ says }) => says),
    approved: reason === null ? raw : approved,
  }
}

/** Why what nobody let pass waits for a person; null for what the first listing lets pass. */
function reasonOf(
  before: CatalogTool | undefined,
  at: Pick<ListingTerms, 'isBaseline' | 'isVouched'> & { readonly pin: string; readonly isDamned: boolean },
): QuarantineReason | null {
  // What an agent's server listed first is a baseline once a person stands behind that server.
  const isFirst = at.isBaseline || (before?.reason === 'unvouched' && before.pin === at.pin)
  if (!isFirst) return before?.reason ?? 'new'
  if (at.isDamned) return 'flagged'
  return at.isVouched ? null : 'unvouched'
}

/** Why it cannot be a tool of ours at all, or null. */
function faultOf(raw: JsonObject): string | null {
  const { name, inputSchema } = raw
  if (typeof name !== 'string' || name === '') return 'it has no name'
  if (name.length > LONGEST_NAME) return `its name is longer than ${LONGEST_NAME} characters`
  if (!TOOL_NAME.test(name)) return 'its name has characters other than letters, digits, "_", "-" and "."'
  if (inputSchema !== undefined && !isJsonObject(inputSchema)) return 'its input schema is no object'
  try {
    assertPlain(raw, 'the definition')
    return null
  } catch (error) {
    if (!(error instanceof KiwiError)) throw error
    // The message would say which key it is, which is text of the server.
    return error.code === 'TOO_DEEP'
      ? 'its definition is nested too deeply'
      : 'its definition holds a key or a text that is not allowed'
  }
}

/** Nothing of it is used, so it is kept without what could not be read. */
function unusable(raw: JsonObject, name: string, fault: string, before?: CatalogTool): CatalogTool {
  const kept = { name: visible(textOf(raw['name'])).slice(0, 200) }
  return {
    name,
    raw: kept,
    pin: pinOf(kept, name),
    state: 'unusable',
    reason: null,
    findings: [fault],
    // What was let pass stays what the next definition is held to.
    approved: before?.approved ?? null,
  }
}

/** Each name that looks like another one, with the other: `read_fi1e` and `read_file`. Another case or `-` for `_` is seen. */
function lookAlikes(names: ReadonlySet<string>): ReadonlyMap<string, string> {
  const alike = new Map<string, string>()
  const seen = new Map<string, string>()
  for (const name of names) {
    const looks = name
      .replaceAll(/[0O]/g, 'o')
      .replaceAll(/[1I|]/g, 'l')
      .replaceAll('rn', 'm')
      .replaceAll('vv', 'w')
    const twin = seen.get(looks)
    if (twin === undefined) seen.set(looks, name)
    else if (twin.toLowerCase() !== name.toLowerCase()) {
      alike.set(name, twin)
      alike.set(twin, name)
    }
  }
  return alike
}
