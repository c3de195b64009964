import { KiwiError } from '../shared/errors.ts'
import { isObject, parsePlain } from '../shared/json.ts'
import { LIMITS } from '../shared/limits.ts'

/** One package by its name, and what is said of its version: `httpx` and `>=0.24,<1`. */
export interface Requirement {
  readonly name: string
  readonly version: string
}

/** How a package manager wants its packages listed: a line each, or as the object of a package.json. */
export type RequirementFormat = 'lines' | 'object'

/** A name, with a scope or parts as some registries have them. Nothing in it can be a path or an address. */
const NAME = /^(?:@[a-z0-9][\w.-]*\/)?[A-Za-z0-9](?:[\w.-]|::(?=\w))*/
const VERSION = /^[<>=!~^]{0,3}[vV]?\d[\w.*+!-]*$/
const EXTRAS = /^\[[\w., -]*\]/
const HASH = /^--hash=[a-z0-9]+:[0-9a-f]+$/
/** Such as `python_version < "3.12"`. */
const MARKER = /^[\w\s.'"<>=!~()]*$/
/** What an installer may take for the end of a line, and begin another package behind it. */
const CONTROL = /(?!\t)[\p{Cc}\u2028\u2029]/u

/** Reads a package by name and version. Whatever says where a package comes from is DEPENDENCY_REFUSED. */
export function readRequirement(given: string, format: RequirementFormat, tool: string): Requirement {
  const [text, hashes] = withoutHashes(given)
  if (CONTROL.test(given.trim())) throw refused(text, tool, 'holds a control character')
  if (text.length > LIMITS.requirementCharacters)
    throw refused(text, tool, `is longer than ${amount(LIMITS.requirementCharacters)} characters`)
  const [name = ''] = NAME.exec(text) ?? []
  if (name === '' || ARCHIVE.test(text)) throw refused(text, tool)
  const rest = text.slice(name.length).trim()
  if (format === 'object') {
    if (hashes.length > 0) throw refused(text, tool)
    return { name, version: versionOf(rest.replace(/^@/, ''), text, tool) }
  }
  const [extras = ''] = EXTRAS.exec(rest) ?? []
  const [bounds = '', ...markers] = rest.slice(extras.length).split(';')
  const marker = markers.join(';').trim()
  if (!MARKER.test(marker)) throw refused(text, tool)
  const version = versionOf(bounds, text, tool)
  // Without an operator an installer would read it otherwise, or not at all.
  if (boundsOf(version).some((bound) => /^[vV\d]/.test(bound))) throw refused(text, tool)
  return {
    name,
    version: [extras, version, marker === '' ? '' : ` ; ${marker}`, ...hashes.map((hash) => ` ${hash}`)].join(
      '',
    ),
  }
}

/** Word by word, so that it takes no longer than it is long. Between two words there is one blank then. */
function withoutHashes(given: string): readonly [text: string, hashes: readonly string[]] {
  const words = given.trim().split(/\s+/)
  const last = words.findLastIndex((word) => !HASH.test(word))
  return [words.slice(0, last + 1).join(' '), words.slice(last + 1)]
}

/** Several; of those that are refused the first is the error, and names the others. */
export function readRequirements(
  given: readonly string[],
  format: RequirementFormat,
  tool: string,
): readonly Requirement[] {
  const faults: KiwiError[] = []
  const read = assertFew(given, tool).flatMap((text) => {
    try {
      return [readRequirement(text, format, tool)]
    } catch (error) {
      if (!(error instanceof KiwiError)) throw error
      faults.push(error)
      return []
    }
  })
  const [first, ...others] = faults
  if (first === undefined) return read
  if (others.length === 0) throw first
  const names = faults.map(({ details }) => String(details['package']))
  const more = others.map(({ message }) => message.replace(/^.*?: the package/, 'the package')).join('; ')
  throw new KiwiError(first.code, `${first.message}; ${more}`, {
    hint: first.hint,
    details: { ...first.details, packages: names },
  })
}

const ARCHIVE = /\.(?:whl|zip|tar|tgz|gz|bz2|xz|gem)$/i

/** Bounds of a version, in any of the usual spellings; empty is any. */
function versionOf(given: string, text: string, tool: string): string {
  const version = given.trim()
  if (!boundsOf(version).every((bound) => VERSION.test(bound))) throw refused(text, tool)
  return version
}

function boundsOf(version: string): readonly string[] {
  if (version === '') return []
  return version.replaceAll(/([<>=!~^]) /g, '$1').split(/ - | ?\|\| ?|[ ,]+/)
}

/** The packages that a file of the tool names. */
export function readRequirementFile(
  text: string,
  format: RequirementFormat,
  tool: string,
): readonly Requirement[] {
  if (text.length > LIMITS.itemBytes)
    throw tooMuch(tool, `its list of packages has more than ${amount(LIMITS.itemBytes)} characters`)
  if (format === 'lines') {
    const lines = text
      .replaceAll(/\\\r?\n/g, ' ')
      .split(/\r?\n/)
      .map(withoutComment)
      .filter((line) => line !== '')
    return readRequirements(lines, format, tool)
  }
  const { dependencies = {} } = objectOf(parsePlain(text), tool)
  return assertFew(Object.entries(objectOf(dependencies, tool)), tool).map(([name, version]) => {
    // Without a bound the next run could be another program's.
    if (typeof version !== 'string' || !/\d/.test(version)) throw refused(`${name}@${String(version)}`, tool)
    return readRequirement(`${name}@${version}`, format, tool)
  })
}

function withoutComment(line: string): string {
  const at = line.search(/(?:^|\s)#/)
  return (at < 0 ? line : line.slice(0, at)).trim()
}

/** What no tool needs would keep an installer busy for hours. */
export function assertFew<T>(packages: readonly T[], tool: string): readonly T[] {
  const { requirements } = LIMITS
  if (packages.length <= requirements) return packages
  throw tooMuch(tool, `it requires ${amount(packages.length)} packages, more than ${amount(requirements)}`)
}

function tooMuch(tool: string, reason: string): KiwiError {
  return new KiwiError('DEPENDENCY_REFUSED', `Cannot run "${tool}": ${reason}`, {
    hint: 'Require only what the tool itself imports: what that needs is installed with it',
    details: { tool },
  })
}

function amount(count: number): string {
  return count.toLocaleString('en')
}

function objectOf(value: unknown, tool: string): Record<string, unknown> {
  if (isObject(value)) return value
  throw new KiwiError('INVALID_CONFIG', `Cannot run "${tool}": its package.json is not what npm reads`, {
    hint: 'Correct the file: it must be JSON with "dependencies" as an object',
  })
}

/** The list as the package manager reads it. */
export function requirementText(requirements: readonly Requirement[], format: RequirementFormat): string {
  if (format === 'lines') return requirements.map(({ name, version }) => `${name}${version}\n`).join('')
  const dependencies = Object.fromEntries(
    requirements.map(({ name, version }) => [name, version === '' ? 'latest' : version]),
  )
  return `${JSON.stringify({ private: true, dependencies }, null, 2)}\n`
}

/** As a person would write it: `httpx>=0.24`, `axios@^1.6`. */
export function showRequirement({ name, version }: Requirement): string {
  return /^(?:\d|\^|~\d)/.test(version) ? `${name}@${version}` : `${name}${version}`
}

function refused(text: string, tool: string, reason = reasonOf(text)): KiwiError {
  // An address may carry a password.
  const shown = text
    .slice(0, 1000)
    .replaceAll(/\/\/[^/@\s]*@/g, '//***@')
    .slice(0, 200)
  return new KiwiError('DEPENDENCY_REFUSED', `Cannot run "${tool}": the package "${shown}" ${reason}`, {
    hint: 'Require a released version by its name, such as httpx>=0.24; where packages come from is set under "packages" in kiwi.json',
    details: { tool, package: shown },
  })
}

function reasonOf(text: string): string {
  if (text.startsWith('-')) return 'is an option, not a package'
  if (/npm:/.test(text)) return 'is another package under this name'
  if (/git[+:@]|github:/.test(text)) return 'comes from git'
  if (/file:|link:|^[./~]|\\/.test(text) || ARCHIVE.test(text)) return 'comes from a file'
  if (text.includes('://')) return 'comes from an address'
  return 'is not a name with a version'
}
