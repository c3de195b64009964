import { isBuiltin } from 'node:module'
import { dirname, join } from 'node:path'

/** The way a call goes, top to bottom: a file imports from its own room or from a room below it. */
export const ROOMS = [
  'cli.ts',
  'index.ts',
  'commands',
  'kiwi.ts',
  'server',
  'meta',
  'items',
  'threads',
  'kernel',
  'chain',
  'upstream',
  'primitives',
  'search',
  'spaces',
  'store',
  'config',
  'shared',
]

/** What lies behind a door, and the rooms that hold its key. */
const DOORS: Readonly<Record<string, readonly string[]>> = {
  'chain/': ['kernel'],
  'upstream/': ['chain'],
  'primitives/': ['chain', 'upstream'],
  'spaces/write.ts': ['kernel'],
}

/** What reaches the world, and the rooms or files that may import it. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  'node:child_process': ['primitives'],
  'node:cluster': [],
  'node:dgram': [],
  // The answer to a login in a browser comes to an address on this machine.
  'node:http': ['server', 'primitives/http/callback.ts'],
  'node:http2': ['server'],
  'node:https': ['server'],
  'node:dns': ['primitives'],
  // It asks the engine to give memory back; it could also open a port.
  'node:inspector': ['commands/rest.ts'],
  'node:net': ['server', 'primitives'],
  'node:tls': ['server', 'primitives'],
  'node:vm': [],
  // What is read takes the processor for long, and reaches nothing.
  'node:worker_threads': ['search'],
  // Of what strangers packed only an answer over HTTP is unpacked, as it comes and to a bound; Kiwi reads no archives.
  'node:zlib': ['primitives/http/content-decoder.ts', 'store/sqlite/undo.ts'],
  undici: ['primitives'],
  // The demo plays the agent on the other side of the wire; no call can reach it.
  '@modelcontextprotocol/client': ['upstream', 'commands/demo.ts'],
  '@modelcontextprotocol/client/stdio': ['commands/demo.ts'],
  '@modelcontextprotocol/node': ['server'],
  '@modelcontextprotocol/server': ['server'],
  '@photostructure/sqlite': ['store'],
  '@napi-rs/keyring': ['store'],
  postgres: ['store'],
}

/** Path below `src/` to text. */
export type Sources = ReadonlyMap<string, string>

interface Link {
  readonly file: string
  readonly name: string
  /** The path below `src/`, when it is one of ours. */
  readonly inside: string | null
}

/** Every law, each with the places that break it. */
export function broken(sources: Sources): Readonly<Record<string, readonly string[]>> {
  const links = [...sources].flatMap(([file, text]) => linksOf(file, text))
  const show = ({ file, name, inside }: Link): string => `${file} -> ${inside ?? name}`
  return {
    rooms: [...sources.keys()].filter((file) => !ROOMS.includes(roomOf(file))),
    direction: links.filter(isUpward).map(show),
    door: links.filter(isAroundDoor).map(show),
    world: links.filter(isLoose).map(show),
    readable: [
      ...[...sources].filter(([, text]) => HIDDEN.test(text)).map(([file]) => file),
      ...links.filter(({ inside }) => inside !== null && !sources.has(inside)).map(show),
    ],
  }
}

/** Imports whose name cannot be read off the page. */
const HIDDEN = /\bimport\(\s*(?!(['"])[^'"]+\1\s*[,)])|\bcreateRequire\b|\bgetBuiltinModule\b|\brequire\(/
/** Static and dynamic imports, and exports from elsewhere. */
const IMPORT = /\b(?:from|import)\s*\(?\s*['"]([^'"]+)['"]/g

function linksOf(file: string, text: string): Link[] {
  return [...text.matchAll(IMPORT)].map(([, name = '']) => ({
    file,
    name,
    inside: name.startsWith('.') ? join(dirname(file), name) : null,
  }))
}

function roomOf(path: string): string {
  return path.split('/')[0] ?? ''
}

function isUpward({ file, inside }: Link): boolean {
  return inside !== null && ROOMS.indexOf(roomOf(inside)) < ROOMS.indexOf(roomOf(file))
}

function isAroundDoor({ file, inside }: Link): boolean {
  return Object.entries(DOORS).some(
    ([door, keys]) =>
      inside?.startsWith(door) === true && roomOf(inside) !== roomOf(file) && !keys.includes(roomOf(file)),
  )
}

/** The longest name that fits decides: a part of a package may be closed where the package is open. */
function isLoose({ file, name: written }: Link): boolean {
  const name = isBuiltin(written) && !written.startsWith('node:') ? `node:${written}` : written
  const fitting = Object.keys(PACKAGES).filter((known) => name === known || name.startsWith(`${known}/`))
  const [closest] = fitting.toSorted((a, b) => b.length - a.length)
  const allowed = closest === undefined ? null : (PACKAGES[closest] ?? [])
  return allowed !== null && !allowed.includes(roomOf(file)) && !allowed.includes(file)
}
