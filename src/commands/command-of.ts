import { z } from 'zod'
import type { Fix } from '../shared/errors.ts'

const Search = z.strictObject({
  query: z.string(),
  item_type: z.string().optional(),
  source: z.string().optional(),
  tool_type: z.string().optional(),
})
const Load = z.strictObject({
  item_id: z.string(),
  item_type: z.string().default('tool'),
  source: z.string().optional(),
})
const Execute = z.strictObject({
  item_id: z.string(),
  item_type: z.string().default('tool'),
  action: z.enum(['run', 'delete', 'publish', 'update', 'sign']),
  parameters: z
    .strictObject({
      confirm: z.literal(true).optional(),
      location: z.string().optional(),
      version: z.string().optional(),
    })
    .default({}),
})

/** The next call as a person types it; null when only a tool can express it. */
export function commandOf({ call, arguments: given }: Fix): string | null {
  if (call === 'search') {
    const search = Search.safeParse(given)
    if (!search.success) return null
    const { query, item_type: type, source, tool_type: kind } = search.data
    const words = [kind === undefined ? '' : `type:${kind}`, query].filter((word) => word !== '')
    return line('search', words.join(' '), [...option('--type', type), ...option('--source', source)])
  }
  if (call === 'load') {
    const load = Load.safeParse(given)
    if (!load.success) return null
    const { item_id, item_type, source } = load.data
    return line('load', item_id, [...typeOption(item_type), ...option('--source', source)])
  }
  const execute = Execute.safeParse(given)
  if (!execute.success) return null
  const { action, item_id, item_type, parameters } = execute.data
  const { confirm, location, version } = parameters
  return line(action, item_id, [
    ...typeOption(item_type),
    ...option('--location', location),
    ...option('--set-version', version),
    ...(confirm === true ? ['--yes'] : []),
  ])
}

function line(command: string, id: string, options: readonly string[]): string {
  return ['kiwi', command, ...(id === '' ? [] : [quoted(id)]), ...options].join(' ')
}

function typeOption(type: string): readonly string[] {
  return option('--type', type === 'tool' ? undefined : type)
}

function option(name: string, value: string | undefined): readonly string[] {
  return value === undefined ? [] : [name, quoted(value)]
}

/** As a shell takes it for one word. */
function quoted(text: string): string {
  return /^[\w.@/^~-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}
