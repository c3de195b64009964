import type { JsonObject } from '../shared/json.ts'
import { patternExample } from './pattern-example.ts'

const FORMATS: Readonly<Record<string, string>> = {
  'date-time': '2026-01-31T12:00:00Z',
  date: '2026-01-31',
  time: '12:00:00Z',
  duration: 'P1D',
  email: 'name@example.com',
  'idn-email': 'name@example.com',
  hostname: 'example.com',
  'idn-hostname': 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com/',
  url: 'https://example.com/',
  iri: 'https://example.com/',
  'uri-reference': '/example',
  'iri-reference': '/example',
  'uri-template': 'https://example.com/{id}',
  uuid: '00000000-0000-4000-8000-000000000000',
  'json-pointer': '/example',
  regex: '.*',
}

const LONGEST = 200

/** `<name>` where any text will do, else one of the form that is asked for. */
export function textExample(schema: JsonObject, name: string, nth: number): string {
  const { format, pattern, minLength, maxLength } = schema
  const formed = typeof format === 'string' && Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined
  const fitting = typeof pattern === 'string' ? patternExample(pattern) : null
  const text = formed ?? fitting ?? `<${name}>${nth === 0 ? '' : nth + 1}`
  if (formed !== undefined || fitting !== null) return text
  const least = typeof minLength === 'number' ? Math.min(minLength, LONGEST) : 0
  const most = typeof maxLength === 'number' ? maxLength : LONGEST
  return (text.length > most ? name : text).slice(0, most).padEnd(least, 'x')
}
