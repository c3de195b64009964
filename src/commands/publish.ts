import type { CommonOptions } from './with-kiwi.ts'
import { withKiwi } from './with-kiwi.ts'
import { printWritten } from './written.ts'

interface PublishOptions extends CommonOptions {
  readonly type: string
  readonly location?: string
  readonly setVersion?: string
  readonly changelog?: string
  readonly dryRun?: boolean
}

/** `kiwi publish <id>` */
export function publishCommand(id: string, options: PublishOptions): Promise<number> {
  const { type, location, setVersion, changelog } = options
  return withKiwi(options, async ({ call }) => {
    const reply = await call('execute', {
      item_type: type,
      action: 'publish',
      item_id: id,
      parameters: {
        ...(location === undefined ? {} : { location }),
        ...(setVersion === undefined ? {} : { version: setVersion }),
        ...(changelog === undefined ? {} : { changelog }),
      },
      dry_run: options.dryRun === true,
    })
    return printWritten(reply, options.json === true)
  })
}
