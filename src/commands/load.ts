import { z } from 'zod'
import { textOf } from '../shared/template.ts'
import type { Property } from './parameters.ts'
import { propertiesIn } from './parameters.ts'
import type { Terminal } from './terminal.ts'
import { printReply, printable, printableText, runLine, table } from './terminal.ts'
import type { CommonOptions } from './with-kiwi.ts'
import { withKiwi } from './with-kiwi.ts'

/** Null where the item is too large for one reply; as odd as the server made it that listed it. */
const Schema = z.unknown().transform((schema) => ({
  properties: propertiesIn(schema),
  required: z.looseObject({ required: z.array(z.string()) }).safeParse(schema).data?.required ?? [],
}))

const Loaded = z.object({
  name: z.string(),
  tool_type: z.string(),
  description: z.string(),
  version: z.string(),
  source: z.string(),
  path: z.string().nullable(),
  content: z.string().nullable(),
  parameters: Schema,
  files: z
    .array(
      z.object({
        path: z.string(),
        bytes: z.number(),
        is_entrypoint: z.boolean(),
        content: z.string().optional(),
      }),
    )
    .nullable()
    .transform((files) => files ?? []),
  chain: z.array(z.object({ tool_id: z.string() })).nullable(),
  grant_hash: z.string().nullable(),
  trust: z.object({ level: z.number(), name: z.string() }).nullable(),
  signature: z
    .object({
      state: z.string(),
      by: z.string().nullable(),
      fingerprint: z.string().nullable(),
      time: z.string().nullable(),
    })
    .nullable(),
  /** Of a server. */
  tools: z.array(z.looseObject({ name: z.string(), description: z.string().catch('') })).default([]),
  relations: z
    .array(z.object({ kind: z.string(), id: z.string(), description: z.string().nullable() }))
    .default([]),
  related: z
    .array(z.object({ id: z.string(), version: z.string(), content: z.string().nullable() }))
    .default([]),
  truncated: z.boolean().default(false),
  destination: z.looseObject({ path: z.string().nullable(), changed: z.boolean() }).nullable(),
})

interface LoadOptions extends CommonOptions {
  readonly type: string
  readonly source?: string
  readonly to?: string
  readonly overwrite?: boolean
  readonly depth?: number
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
      ...(options.depth === undefined ? {} : { depth: options.depth }),
    })
    return printReply(reply, options.json === true, (data, terminal) =>
      show(Loaded.parse(data), id.includes('@'), terminal),
    )
  })
}

const WIDEST = 100

function firstLine(text: string): string {
  const [line = ''] = text.split('\n')
  return line.length > WIDEST ? `${line.slice(0, WIDEST)}…` : line
}

function show(item: z.infer<typeof Loaded>, isPinned: boolean, terminal: Terminal): void {
  const [name, version] = [printable(item.name), printable(item.version)]
  terminal.out(`${terminal.bold(name)} ${version}  ${terminal.dim(`${item.tool_type}, ${item.source}`)}`)
  terminal.out(printable(item.description))
  if (item.path !== null) terminal.out(terminal.dim(printable(item.path)))
  const parameters = Object.entries(item.parameters.properties)
  if (parameters.length > 0) {
    terminal.out('\nparameters')
    terminal.out(
      table(
        parameters.map(([parameter, schema]) => [
          '',
          parameter,
          typeOf(schema, item.parameters.required.includes(parameter)),
          typeof schema === 'boolean' ? '' : textOf(schema['description']),
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
  if (item.tools.length > 0) {
    terminal.out('\ntools')
    terminal.out(table(item.tools.map((tool) => ['', tool.name, firstLine(tool.description)])))
  }
  if (item.chain !== null)
    terminal.out(`\nchain  ${printable(item.chain.map(({ tool_id }) => tool_id).join(' > '))}`)
  if (item.grant_hash !== null) terminal.out(`grant  ${item.grant_hash}`)
  showTrust(item, terminal)
  if (item.tool_type === 'knowledge')
    for (const { content = '' } of item.files) terminal.out(`\n${printableText(content.trimEnd())}`)
  else if (item.content !== null)
    terminal.out(`\nmanifest\n${printableText(item.content.trimEnd()).replaceAll(/^/gm, '  ')}`)
  showRelations(item, terminal)
  showNext(item, isPinned, terminal)
}

function showRelations({ relations, related }: z.infer<typeof Loaded>, terminal: Terminal): void {
  if (relations.length > 0) {
    terminal.out('\nrelations')
    terminal.out(
      table(
        relations.map(({ kind, id, description }) => ['', kind, id, firstLine(description ?? 'not found')]),
      ),
    )
  }
  for (const { id, version, content } of related) {
    terminal.out(`\n${terminal.bold(printable(id))} ${printable(version)}`)
    if (content !== null) terminal.out(printableText(content.trim()).replaceAll(/^/gm, '  '))
  }
}

function showTrust({ trust, signature }: z.infer<typeof Loaded>, terminal: Terminal): void {
  if (trust !== null) terminal.out(`trust  ${trust.name} (${trust.level})`)
  if (signature === null || signature.state === 'builtin') return
  const { state, by, fingerprint, time } = signature
  const known = [by === null ? null : `by ${by}`, fingerprint, time].filter((part) => part !== null)
  terminal.out(printable(`sign   ${[state, ...known].join(', ')}`))
}

function showNext(item: z.infer<typeof Loaded>, isPinned: boolean, terminal: Terminal): void {
  if (item.truncated) terminal.note('\nIt is too large to be shown whole: parts are left out.')
  if (item.destination !== null) {
    const { changed, path } = item.destination
    terminal.note(`\n${changed ? 'Copied to' : 'Already at'} ${printable(path ?? '')}`)
    return
  }
  if (item.tool_type === 'script' || item.tool_type === 'api') {
    terminal.note(
      `\n${runLine(isPinned ? `${item.name}@${item.version}` : item.name, item.parameters.required)}`,
    )
  }
}

function typeOf(given: Property, isRequired: boolean): string {
  const schema = typeof given === 'boolean' ? {} : given
  const type = typeof schema['type'] === 'string' ? schema['type'] : 'any'
  if (isRequired) return `${type}, required`
  return schema['default'] === undefined ? type : `${type} = ${JSON.stringify(schema['default'])}`
}
