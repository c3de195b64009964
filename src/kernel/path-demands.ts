import type { Dirent } from 'node:fs'
import { readdirSync } from 'node:fs'
import { isAbsolute, join, relative, resolve, sep } from 'node:path'
import { KiwiError, messageOf } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import { compileTemplate, renderText } from '../shared/template.ts'
import { statOf } from '../spaces/disk.ts'
import { parameterNames } from '../spaces/input-schema.ts'
import type { Manifest } from '../spaces/manifest.ts'
import type { Work } from './call.ts'
import type { Demand } from './policy/rule.ts'
import { realEntry, realPath } from './real-path.ts'

/** The paths that a call names, as they are judged. */
export interface PathDemands {
  readonly demands: readonly Demand[]
  /** Each path as the call names it, and what the system calls it. */
  readonly real: ReadonlyMap<string, string>
  readonly change: Work['change']
  readonly preview: () => JsonObject
  /** A result without what was found at places that may not be read. */
  readonly found: (data: JsonObject, mayRead: (path: string) => boolean) => JsonObject
}

interface Occasion {
  readonly parameters: JsonObject
  readonly projectPath: string | null
}

/** Null for a tool that declares no paths. What is judged is where a path leads; where the two differ, it is both. */
export function pathDemands(manifest: Manifest, occasion: Occasion): PathDemands | null {
  const { paths } = manifest
  if (paths === undefined) return null
  const isEntry = paths.keeps_links === true
  const fill = (source: string): string => filled(source, manifest, occasion)
  const named = (sources: readonly string[]): readonly Named[] =>
    sources.map(fill).flatMap((given) => (given === '' ? [] : [locate(given, occasion.projectPath, isEntry)]))
  const [read, written] = [named(paths.read), named(paths.write)]
  const [first] = written
  if (isEntry) for (const { real } of written) assertNotProject(real, occasion.projectPath)
  // What another spelling than text stands for would be shown as what it is not.
  const isText = occasion.parameters['encoding'] !== 'base64'
  const content = paths.content === undefined ? null : fill(paths.content)
  const change =
    first === undefined || content === null || !isText ? undefined : { path: first.real, content }
  return {
    demands: [
      ...demandsOf('read', read),
      ...demandsOf('write', isEntry ? written.flatMap(withBelow) : written),
    ],
    real: new Map([...read, ...written].map(({ given, real }) => [given, real])),
    change,
    preview: () => ({
      ...(read.length === 0 ? {} : { would_read: read.map(({ real }) => real) }),
      ...(written.length === 0
        ? {}
        : {
            would_write: written.map(({ real }) => ({
              path: real,
              ...(content === null || !isText ? {} : { bytes: Buffer.byteLength(content) }),
            })),
          }),
    }),
    found: (data, mayRead) => withoutHidden(data, { key: paths.found, root: read[0]?.real, mayRead }),
  }
}

interface Named {
  readonly given: string
  /** Where it is said to be, by its text alone. */
  readonly text: string
  readonly real: string
}

function filled(source: string, manifest: Manifest, { parameters, projectPath }: Occasion): string {
  return renderText(compileTemplate(source, parameterNames(manifest)), {
    parameter: (name) => (Object.hasOwn(parameters, name) ? parameters[name] : undefined),
    variable: ({ name }) => {
      if (name === 'PROJECT_PATH') return projectPath ?? ''
      throw new KiwiError(
        'INVALID_MANIFEST',
        `Cannot use path "${source}": only \${PROJECT_PATH} is known there`,
      )
    },
  })
}

const CONTROL = /\p{Cc}/u
/** `~/x` and `~ada`, `file://`, `C:\\x` and `\\\\host`. */
const FOREIGN = /^(?:~[\w-]*(?:\/|$)|[a-z][\w+.-]*:\/\/|[a-z]:\\|\\\\)/i

function locate(given: string, projectPath: string | null, isEntry: boolean): Named {
  if (CONTROL.test(given)) {
    throw new KiwiError(
      'INVALID_PARAMETERS',
      `Cannot use path ${JSON.stringify(given)}: it holds a control character`,
    )
  }
  // As a name, it would be a folder in the project that is called so, and is taken for a home by the next person.
  if (FOREIGN.test(given)) {
    throw new KiwiError(
      'INVALID_PARAMETERS',
      `Cannot use path "${given}": a home, an address or a path of another system is not read as one`,
      { hint: 'Give the whole path, or one below the project: ./ in front makes a name of it' },
    )
  }
  if (projectPath === null && !isAbsolute(given)) {
    throw new KiwiError(
      'PROJECT_PATH_REQUIRED',
      `Cannot use path "${given}": it is relative, and no project is known`,
    )
  }
  const text = projectPath === null ? resolve(given) : belowReal(resolve(projectPath, given), projectPath)
  return { given, text, real: isEntry ? realEntry(text) : realPath(text) }
}

/** A project that is itself reached by a link is called by its own name, so that its rules speak of its files. */
function belowReal(path: string, projectPath: string): string {
  const inside = relative(projectPath, path)
  const isInside = inside !== '..' && !inside.startsWith(`..${sep}`) && !isAbsolute(inside)
  return isInside ? join(realPath(projectPath), inside) : path
}

function demandsOf(op: 'read' | 'write', named: readonly Named[]): readonly Demand[] {
  const paths = new Set(named.flatMap(({ real, text }) => [real, text]))
  return Array.from(paths, (path) => ({ op, path, isChosen: true }))
}

/** To remove or rename the project, or what it lies in, is nothing that is done from within. */
function assertNotProject(real: string, projectPath: string | null): void {
  if (projectPath === null || !`${realPath(projectPath)}${sep}`.startsWith(real === sep ? sep : real + sep))
    return
  throw new KiwiError('INVALID_PARAMETERS', `Cannot delete or move "${real}": the project lies there`)
}

/** A bound on the work of a call, and on its record. */
const MOST_BELOW = 2000

/** A folder that goes takes along all that is in it, and each of that may be protected. */
function withBelow(named: Named): readonly Named[] {
  const all = [named]
  const open = isFolder(named.real) ? [named.real] : []
  for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
    for (const entry of entriesOf(folder)) {
      const path = join(folder, entry.name)
      all.push({ given: path, text: path, real: path })
      if (all.length > MOST_BELOW) {
        throw new KiwiError(
          'INVALID_PARAMETERS',
          `Cannot delete or move "${named.real}": more than ${MOST_BELOW} files and folders are in it`,
          { hint: 'Do it in parts, one folder after the other' },
        )
      }
      if (entry.isDirectory()) open.push(path)
    }
  }
  return all
}

function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch (error) {
    throw new KiwiError('TOOL_FAILED', `Cannot look into "${folder}": ${messageOf(error)}`, {
      hint: 'Only what can be looked into is deleted or moved',
      cause: error,
    })
  }
}

function isFolder(path: string): boolean {
  return statOf(path)?.isDirectory() === true
}

interface Shown {
  readonly key: string | undefined
  readonly root: string | undefined
  readonly mayRead: (path: string) => boolean
}

/** Who may look into a folder need not see all of it. */
function withoutHidden(data: JsonObject, { key, root, mayRead }: Shown): JsonObject {
  const { output } = data
  if (key === undefined || root === undefined || !isJsonObject(output)) return data
  const entries = output[key]
  if (!Array.isArray(entries)) return data
  const isShown = (entry: unknown): boolean =>
    isJsonObject(entry) && typeof entry['path'] === 'string' && mayRead(join(root, entry['path']))
  return { ...data, output: { ...output, [key]: entries.filter(isShown) } }
}
