import { KiwiError } from '../shared/errors.ts'
import type { Segment, Template, Values } from '../shared/template.ts'
import { compileTemplate, renderSegment } from '../shared/template.ts'

/** A URL whose origin no parameter can touch. */
export interface UrlTemplate {
  readonly source: string
  readonly parts: readonly { readonly segment: Segment; readonly place: Place }[]
}

/** Where a piece of the template stands: before the path, in it, or behind the question mark. */
type Place = 'origin' | 'path' | 'query'

export function compileUrl(source: string, parameters: ReadonlySet<string>): UrlTemplate {
  const template: Template = compileTemplate(source, parameters)
  let place: Place = 'origin'
  const parts = template.segments.map((segment) => {
    const at = place
    if (segment.kind === 'parameter' && at === 'origin') {
      throw new KiwiError(
        'INVALID_CONFIG',
        `Cannot use url "${source}": {${segment.name}} would choose the host`,
        {
          hint: 'Write scheme and host out; parameters may fill the path and the query',
        },
      )
    }
    if (segment.kind === 'text') place = placeAfter(segment.text, at)
    return { segment, place: at }
  })
  const origin = parts.filter(({ place: at }) => at === 'origin').map(({ segment }) => segment)
  // What a variable says is known only when a call is made.
  if (origin.every((segment) => segment.kind === 'text')) {
    const literal = origin.map(({ text }) => text).join('')
    assertOrigin(source, literal, literal)
  }
  return { source, parts }
}

/** The host that the manifest writes out; null when a variable chooses it. */
export function literalHost({ parts }: UrlTemplate): string | null {
  let text = ''
  for (const { segment, place } of parts) {
    if (place !== 'origin') break
    if (segment.kind !== 'text') return null
    text += segment.text
  }
  return URL.canParse(text) ? new URL(text).host : null
}

/** Parameters are encoded for the place they stand in, variables in the query too, and the address must still be the one the manifest names. */
export function renderUrl(template: UrlTemplate, values: Values): string {
  let text = ''
  let origin = ''
  const filled: { name: string; from: number; to: number }[] = []
  for (const { segment, place } of template.parts) {
    const piece = renderSegment(segment, values)
    if (place === 'origin') origin += piece
    const from = text.length
    const isEncoded =
      segment.kind === 'parameter' || (segment.kind === 'variable' && place === 'query' && isInValue(text))
    text += isEncoded ? encode(segment.name, piece) : piece
    if (segment.kind === 'parameter' && place === 'path')
      filled.push({ name: segment.name, from, to: text.length })
  }
  for (const place of filled) assertWholePart(text, place)
  assertOrigin(template.source, text, origin)
  return text
}

/** Where a name would stand, a variable may hold several names with their values, such as a signature. */
function isInValue(before: string): boolean {
  return !/[?&]$/.test(before)
}

/** In literal text the host ends at the first slash behind it, the path at the first `?` or `#`. */
function placeAfter(text: string, place: Place): Place {
  if (place === 'query') return 'query'
  const rest = place === 'origin' ? text.replace(/^[a-z][a-z0-9+.-]*:\/\//i, '') : text
  if (/[?#]/.test(rest)) return 'query'
  return place === 'path' || rest.includes('/') ? 'path' : 'origin'
}

function encode(name: string, piece: string): string {
  try {
    return encodeURIComponent(piece)
  } catch {
    throw unusable(name, 'it holds half a character')
  }
}

/** `..` survives percent-encoding, and a URL parser then takes it out with its neighbour; so does many a server with `..%2F`. */
function assertWholePart(text: string, { name, from, to }: { name: string; from: number; to: number }): void {
  const part =
    text.slice(text.lastIndexOf('/', from - 1) + 1, to) + (/^[^/?#]*/.exec(text.slice(to))?.[0] ?? '')
  if (part === '') throw unusable(name, 'it leaves a part of the path empty')
  const dots = decode(part)
    .split(/[/\\]/)
    .find((piece) => piece === '.' || piece === '..')
  if (dots !== undefined) throw unusable(name, `it makes a part of the path "${dots}"`)
}

/** The text around a parameter is the author's, and need not be encoding at all. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

function unusable(name: string, reason: string): KiwiError {
  return new KiwiError('INVALID_PARAMETERS', `Cannot build the address: "${name}" is not usable, ${reason}`, {
    details: { missing: [], invalid: [{ name, reason }] },
  })
}

function assertOrigin(source: string, text: string, origin: string): void {
  if (!URL.canParse(text) || !URL.canParse(origin))
    throw new KiwiError('INVALID_CONFIG', `Cannot use url "${source}": it is not an absolute address`)
  const url = new URL(text)
  if (url.username !== '' || url.password !== '') {
    throw new KiwiError('INVALID_CONFIG', `Cannot use the url to "${url.host}": it holds credentials`, {
      hint: 'Give them under "auth", beside the url, with type basic',
    })
  }
  if (url.origin !== new URL(origin).origin)
    throw new KiwiError('INVALID_CONFIG', `Cannot use url "${source}": it would leave its own host`)
}
