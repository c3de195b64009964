import { z } from 'zod'
import { printReply, printable, table } from './terminal.ts'
import type { CommonOptions } from './with-kiwi.ts'
import { withKiwi } from './with-kiwi.ts'

const Loaded = z.looseObject({
  name: z.string(),
  version: z.string(),
  source: z.string(),
  versions: z.array(
    z.looseObject({
      version: z.string(),
      is_latest: z.boolean(),
      created_at: z.string(),
      changelog: z.string().nullable(),
    }),
  ),
})

interface VersionsOptions extends CommonOptions {
  readonly type: string
}

/** `kiwi versions <id>`: the published ones, and what the id means here. */
export function versionsCommand(id: string, options: VersionsOptions): Promise<number> {
  return withKiwi(options, async ({ call }) => {
    const reply = await call('load', { item_type: options.type, item_id: id })
    const data = reply.error === null ? Loaded.parse(reply.data) : null
    const { name, version, source, versions } = data ?? { name: id, version: '', source: '', versions: [] }
    const short = { ...reply, data: data === null ? null : { name, version, source, versions } }
    return printReply({ ...reply, ...short }, options.json === true, (_, terminal) => {
      terminal.note(printable(`"${name}" is ${version} in ${source} here`))
      if (versions.length === 0) terminal.note(`No version is published: kiwi publish ${printable(name)}`)
      else terminal.out(table(versions.map(row)))
    })
  })
}

function row({
  version,
  is_latest,
  created_at,
  changelog,
}: z.infer<typeof Loaded>['versions'][number]): string[] {
  return [version, is_latest ? 'latest' : '', created_at.replace('T', ' ').slice(0, 19), changelog ?? '']
}
