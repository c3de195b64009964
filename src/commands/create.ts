import { assertType, readItemSource } from './item-source.ts'
import type { CommonOptions } from './with-kiwi.ts'
import { withKiwi } from './with-kiwi.ts'
import { printWritten } from './written.ts'

interface CreateOptions extends CommonOptions {
  readonly type: string
  readonly location: string
  readonly id?: string
  readonly category?: string
  readonly description?: string
  readonly dryRun?: boolean
}

/** `kiwi create <manifest | folder with tool.yaml | script | document>` */
export async function createCommand(source: string, options: CreateOptions): Promise<number> {
  const { type, location, category, description } = options
  assertType(source, type)
  const read = await readItemSource(source)
  const item_id = options.id ?? read.id
  return withKiwi(options, async ({ call }) => {
    const reply = await call('execute', {
      item_type: type,
      action: 'create',
      ...(item_id === undefined ? {} : { item_id }),
      parameters: {
        ...read.parameters,
        location,
        ...(category === undefined ? {} : { category }),
        ...(description === undefined ? {} : { description }),
      },
      dry_run: options.dryRun === true,
    })
    return printWritten(reply, options.json === true)
  })
}
