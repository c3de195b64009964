import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join, parse, relative, resolve } from 'node:path'
import { z } from 'zod'
import { KiwiError, messageOf } from '../shared/errors.ts'
import { LIMITS } from '../shared/limits.ts'
import { parseDocument } from '../spaces/parse-document.ts'
import { printReply, printable, printableText } from './terminal.ts'
import type { CommonOptions } from './with-kiwi.ts'
import { withKiwi } from './with-kiwi.ts'

const Created = z.looseObject({
  output: z.string(),
  tool_id: z.string(),
  path: z.string().nullable(),
  call: z.looseObject({}).nullable(),
})

interface CreateOptions extends CommonOptions {
  readonly location: string
  readonly id?: string
  readonly dryRun?: boolean
}

/** `kiwi create <manifest.yaml | folder with tool.yaml>` */
export function createCommand(source: string, options: CreateOptions): Promise<number> {
  const { manifest, files } = readSource(source)
  return withKiwi(options, async ({ call }) => {
    const item_id = options.id ?? (await nameOf(source, manifest))
    const reply = await call('execute', {
      item_type: 'tool',
      action: 'create',
      ...(item_id === undefined ? {} : { item_id }),
      parameters: { manifest, files, location: options.location },
      dry_run: options.dryRun === true,
    })
    return printReply(reply, options.json === true, (data, terminal) => {
      if (reply.status === 'dry_run') return terminal.out(printableText(JSON.stringify(data, null, 2)))
      const { output, tool_id, path, call: ready } = Created.parse(data)
      terminal.out(printable(output))
      if (path !== null) terminal.note(printable(path))
      if (ready !== null) terminal.note(`Run it: kiwi run ${printable(tool_id)}`)
    })
  })
}

/** A manifest that does not say its id is called as its file or folder, as it would be in a space. */
async function nameOf(source: string, manifest: string): Promise<string | undefined> {
  const declared = await parseDocument(manifest, source).catch(() => null)
  const isNamed = declared === null || ['tool_id', 'id', 'name'].some((key) => declared[key] !== undefined)
  return isNamed ? undefined : parse(resolve(source)).name
}

function readSource(source: string): { manifest: string; files: Record<string, unknown> } {
  try {
    if (!statSync(source).isDirectory()) return { manifest: readFileSync(source, 'utf8'), files: {} }
    const manifest = readFileSync(join(source, 'tool.yaml'), 'utf8')
    const paths = readdirSync(source, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => relative(source, path) !== 'tool.yaml')
    assertFits(source, paths)
    return {
      manifest,
      files: Object.fromEntries(paths.map((path) => [relative(source, path), fileAt(path)])),
    }
  } catch (error) {
    if (error instanceof KiwiError) throw error
    throw new KiwiError('PARSE_ERROR', `Cannot read "${source}": ${messageOf(error)}`, {
      hint: 'Give a manifest file, or a folder that holds tool.yaml',
      cause: error,
    })
  }
}

/** Before anything is read: the files go into one call, a third longer than they are. */
function assertFits(source: string, paths: readonly string[]): void {
  const bytes = paths.reduce((sum, path) => sum + statSync(path).size, 0)
  if (bytes * (4 / 3) < LIMITS.requestBytes - LIMITS.itemBytes) return
  throw new KiwiError('MESSAGE_TOO_LARGE', `Cannot send "${source}": its files have ${bytes} bytes`, {
    hint: 'Copy the folder to .ai/tools of the project: what lies there is found',
  })
}

function fileAt(path: string): { content: string; encoding: string; executable: boolean } {
  return {
    content: readFileSync(path).toString('base64'),
    encoding: 'base64',
    executable: isExecutable(path),
  }
}

function isExecutable(path: string): boolean {
  return (statSync(path).mode & 0o100) !== 0
}
