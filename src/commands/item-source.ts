import { lstatSync, readFileSync, statSync } from 'node:fs'
import { extname, join, parse, relative, resolve } from 'node:path'
import { KiwiError, messageOf } from '../shared/errors.ts'
import { LIMITS } from '../shared/limits.ts'
import { folderFiles } from '../spaces/folder-files.ts'
import { parseDocument } from '../spaces/parse-document.ts'
import { parseToml } from '../spaces/parse-toml.ts'
import { readRegularFile } from '../spaces/read-file.ts'
import { languageByEnding } from '../spaces/source/languages.ts'
import { manifestText } from '../spaces/written-item.ts'

/** An item as a person has it on disk, as `create` and `update` take it. */
export interface ItemSource {
  /** What it is called when it does not say so itself. */
  readonly id: string | undefined
  readonly parameters: Readonly<Record<string, unknown>>
  /** Paths of the files of a folder; null for a single file. */
  readonly paths: readonly string[] | null
  /** The manifest as it was written, where that is TOML. */
  readonly toml?: string
}

/** Reads a manifest, a folder with `tool.yaml`, a script or a document. */
export async function readItemSource(source: string): Promise<ItemSource> {
  try {
    if (statSync(source).isDirectory()) return await readFolder(source)
    assertFits(source, [source])
    const text = readFileSync(source, 'utf8')
    const { name, ext } = parse(resolve(source))
    if (/^\.(?:ya?ml|json)$/.test(ext)) {
      return { id: await nameUnlessSaid(text, name), parameters: { manifest: text }, paths: null }
    }
    if (ext === '.toml') {
      const manifest = await manifestText(await parseToml(text, source))
      return { id: await nameUnlessSaid(manifest, name), parameters: { manifest }, paths: null, toml: text }
    }
    const language = languageByEnding(ext)
    // A first line says more, but for Python, which has many programs.
    const isSaid = language === null || (text.startsWith('#!') && ext !== '.py')
    const type = isSaid ? {} : { tool_type: language.type }
    return { id: name, parameters: { content: text, ...type }, paths: null }
  } catch (error) {
    if (error instanceof KiwiError) throw error
    throw new KiwiError('PARSE_ERROR', `Cannot read "${source}": ${messageOf(error)}`, {
      hint: 'Give a manifest, a script, a document, or a folder that holds tool.yaml',
      cause: error,
    })
  }
}

/** A document is a directive or knowledge, which only a person can tell; anything else is a tool. */
export function assertType(source: string, type: string): void {
  if (extname(source) !== '.md' || type === 'directive' || type === 'knowledge') return
  throw new KiwiError('INVALID_PARAMETERS', `Cannot create a ${type} from "${source}": it is a document`, {
    hint: 'Give --type directive or --type knowledge',
    details: { missing: [], invalid: [{ name: 'type', reason: 'directive or knowledge for a document' }] },
  })
}

/** A manifest that does not say its id is called as its file or folder, as it would be in a space. */
async function nameUnlessSaid(manifest: string, name: string): Promise<string | undefined> {
  const declared = await parseDocument(manifest, name).catch(() => null)
  const isNamed = declared === null || ['tool_id', 'id', 'name'].some((key) => declared[key] !== undefined)
  return isNamed ? undefined : name
}

async function readFolder(source: string): Promise<ItemSource> {
  const manifest = readRegularFile(join(source, 'tool.yaml'), LIMITS.itemBytes).bytes.toString('utf8')
  const others: string[] = []
  const files = folderFiles(source, (path) => others.push(path))
  const link = others.find((path) => lstatSync(join(source, path)).isSymbolicLink())
  if (link !== undefined) {
    throw new KiwiError('INVALID_MANIFEST', `Cannot use "${join(source, link)}": it is a link`, {
      hint: 'Replace the link by what it leads to',
    })
  }
  const paths = files.filter((path) => path !== 'tool.yaml').map((path) => join(source, path))
  assertFits(source, paths)
  return {
    id: await nameUnlessSaid(manifest, parse(resolve(source)).name),
    parameters: {
      manifest,
      files: Object.fromEntries(paths.map((path) => [relative(source, path), fileAt(path)])),
    },
    paths: paths.map((path) => relative(source, path)),
  }
}

/** Before anything is read: the files go into one call, a third longer than they are. */
function assertFits(source: string, paths: readonly string[]): void {
  const bytes = paths.reduce((sum, path) => sum + statSync(path).size, 0)
  if (bytes * (4 / 3) < LIMITS.requestBytes - LIMITS.itemBytes) return
  const isItem = bytes <= LIMITS.bundleBytes
  throw new KiwiError('MESSAGE_TOO_LARGE', `Cannot send "${source}": its files have ${bytes} bytes`, {
    hint: isItem
      ? 'Copy it to .ai/tools of the project: what lies there is found'
      : `An item may have ${LIMITS.bundleBytes} bytes: keep the data elsewhere, and give its path as a parameter`,
  })
}

function fileAt(path: string): { content: string; encoding: string; executable: boolean } {
  return {
    content: readFileSync(path).toString('base64'),
    encoding: 'base64',
    executable: (lstatSync(path).mode & 0o100) !== 0,
  }
}
