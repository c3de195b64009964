import { readItemType } from '../meta/arguments.ts'
import { findItem } from '../meta/find-item.ts'
import { parseItemRef } from '../shared/ids.ts'
import type { ItemSource } from './item-source.ts'
import { readItemSource } from './item-source.ts'
import type { CommonOptions, Session } from './with-kiwi.ts'
import { withKiwi } from './with-kiwi.ts'
import { printWritten } from './written.ts'

interface UpdateOptions extends CommonOptions {
  readonly type: string
  readonly location?: string
  readonly setVersion?: string
  readonly changelog?: string
  readonly dryRun?: boolean
}

/** `kiwi update <id> [file or folder]` */
export async function updateCommand(
  id: string,
  source: string | undefined,
  options: UpdateOptions,
): Promise<number> {
  const { type, location, setVersion, changelog } = options
  const read = source === undefined ? null : await readItemSource(source)
  return withKiwi(options, async (session) => {
    const reply = await session.call('execute', {
      item_type: type,
      action: 'update',
      item_id: id,
      parameters: {
        ...(read === null ? {} : await changeOf(id, type, read, session)),
        ...(location === undefined ? {} : { location }),
        ...(setVersion === undefined ? {} : { version: setVersion }),
        ...(changelog === undefined ? {} : { changelog }),
      },
      dry_run: options.dryRun === true,
    })
    return printWritten(reply, options.json === true)
  })
}

/** The item becomes what the folder is: files that are not in it go. */
async function changeOf(
  id: string,
  type: string,
  { parameters, paths, toml }: ItemSource,
  { kiwi, project }: Session,
): Promise<Readonly<Record<string, unknown>>> {
  const { tool_type: _type, ...given } = parameters
  if (paths === null && toml === undefined) return given
  const item = await findItem(kiwi.spaces.at(project), parseItemRef(id), readItemType(type))
  if (toml !== undefined) return item.path?.endsWith('.toml') === true ? { manifest: toml } : given
  const gone = item.filePaths
    .filter((path) => paths?.includes(path) === false)
    .map((path) => [path, null] as const)
  return { ...given, files: { ...Object.fromEntries(gone), ...Object(given['files']) } }
}
