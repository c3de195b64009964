import { z } from 'zod'
import { textOf } from '../shared/template.ts'
import type { Terminal } from './terminal.ts'
import { printReply, table } from './terminal.ts'
import type { CommonOptions } from './with-kiwi.ts'
import { withKiwi } from './with-kiwi.ts'

const Schema = z.looseObject({
  properties: z.record(z.string(), z.looseObject({})).default({}),
  required: z.array(z.string()).default([]),
})

const Loaded = z.object({
  name: z.string(),
  tool_type: z.string(),
  description: z.string(),
  version: z.string(),
  source: z.string(),
  path: z.string().nullable(),
  parameters: Schema,
  files: z.array(
    z.object({
      path: z.string(),
      bytes: z.number(),
      is_entrypoint: z.boolean(),
      content: z.string().optional(),
    }),
  ),
  chain: z.array(z.object({ tool_id: z.string() })).nullable(),
  grant_hash: z.string().nullable(),
  destination: z.looseObject({ path: z.string().nullable(), changed: z.boolean() }).nullable(),
})

interface LoadOptions extends CommonOptions {
  readonly type: string
  readonly source?: string
  readonly to?: string
  readonly overwrite?: boolean
}

/** `kiwi load <id>` */
export function loadCommand(id: string, options: LoadOptions): Promise<number> {
  return withKiwi(options, async ({ call }) => {
    const reply = await call('load', {
      item_type: options.type,
      item_id: id,
      ...(options.source === undefined ? {} : { source: options.source }),
      ...(options.to === undefined ? {} : { destination: options.to }),
      ...(options.overwrite === undefined ? {} : { overwrite: options.overwrite }),
    })
    return printReply(reply, options.json === true, (data, terminal) => show(Loaded.parse(data), terminal))
  })
}

function show(item: z.infer<typeof Loaded>, terminal: Terminal): void {
  terminal.out(
    `${terminal.bold(item.name)} ${item.version}  ${terminal.dim(`${item.tool_type}, ${item.source}`)}`,
  )
  terminal.out(item.description)
  if (item.path !== null) terminal.out(terminal.dim(item.path))
  const parameters = Object.entries(item.parameters.properties)
  if (parameters.length > 0) {
    terminal.out('\nparameters')
    terminal.out(
      table(
        parameters.map(([name, schema]) => [
          '',
          name,
          typeOf(schema, item.parameters.required.includes(name)),
          textOf(schema['description']),
        ]),
      ),
    )
  }
  if (item.files.length > 0) {
    terminal.out('\nfiles')
    terminal.out(
      table(
        item.files.map((file) => [
          '',
          file.path,
          `${file.bytes} bytes`,
          file.is_entrypoint ? 'entrypoint' : '',
        ]),
      ),
    )
  }
  if (item.chain !== null) terminal.out(`\nchain  ${item.chain.map(({ tool_id }) => tool_id).join(' > ')}`)
  if (item.grant_hash !== null) terminal.out(`grant  ${item.grant_hash}`)
  if (item.tool_type === 'knowledge')
    for (const { content = '' } of item.files) terminal.out(`\n${content.trimEnd()}`)
  if (item.destination !== null) {
    terminal.note(`\n${item.destination.changed ? 'Copied to' : 'Already at'} ${item.destination.path ?? ''}`)
    return
  }
  if (item.tool_type === 'script' || item.tool_type === 'api') {
    const named = item.parameters.required.map((name) => ` ${name}=...`).join('')
    terminal.note(`\nRun it: kiwi run ${item.name}${named}`)
  }
}

function typeOf(schema: Readonly<Record<string, unknown>>, isRequired: boolean): string {
  const type = typeof schema['type'] === 'string' ? schema['type'] : 'any'
  if (isRequired) return `${type}, required`
  return schema['default'] === undefined ? type : `${type} = ${JSON.stringify(schema['default'])}`
}
