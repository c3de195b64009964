import { lineIn } from '../../spaces/directive/dialect.ts'
import type { Element } from '../../spaces/directive/element.ts'
import { dialectOf } from '../../spaces/directive/element.ts'
import { meant } from '../../spaces/directive/note.ts'
import type { Granted, RowContext } from './permission-rows.ts'
import { isServer } from './permission-rows.ts'

/** What may be said of any form, and changes nothing. */
const REMARKS = ['reason', 'why', 'description']

const words = (text: string): readonly string[] => text.split(' ')
const FILES = words('path paths')
const HOSTS = words('endpoint domains hosts')
const ACTIONS = words('action actions')

/** What `<read>`, `<write>` and `<execute>` read of each resource. Any other resource is a server by its name. */
const BY_RESOURCE: ReadonlyMap<string, readonly string[]> = new Map([
  ['filesystem', FILES],
  ['fs', FILES],
  ['files', FILES],
  ['network', HOSTS],
  ['api', HOSTS],
  ['env', words('var name')],
  ['knowledge', words('path id')],
  ['session', []],
  ['shell', words('commands command action')],
  ['mcp', [...ACTIONS, 'name', 'tools']],
  ['tool', words('id tool_id action tool_type')],
  ['kiwi', ACTIONS],
  ['kiwi-mcp', ACTIONS],
  ['registry', ACTIONS],
  ['sampling', words('name server servers')],
  ['spawn', ACTIONS],
  ['http', [...ACTIONS, ...HOSTS]],
])
const OF_A_SERVER = [...ACTIONS, 'tools']

/** Why nothing is granted by a form about a resource that is neither one of these nor a server. */
export function unknownResource(resource: string, context: Pick<RowContext, 'servers'>): Granted | null {
  if (BY_RESOURCE.has(resource) || isServer(resource, context)) return null
  const probably = meant(resource, BY_RESOURCE.keys(), (name) => `"${name}"`)
  return { unmapped: `there is no such resource or server${probably}` }
}

/** Why nothing is granted by a form that does not say of what. */
export function noResource(element: Element): Granted {
  const { name, attributes, text, isData } = element
  const [, resource] = TOLD_BY.find(([keys]) => keys.some((key) => key in attributes)) ?? []
  const isBare = Object.keys(attributes).length === 0 && text !== ''
  const probably = isBare
    ? `: ${lineIn(dialectOf(element), name, { resource: 'filesystem', path: text })} is probably meant`
    : resource === undefined
      ? ''
      : `: ${isData === true ? `"resource: ${resource}"` : `resource="${resource}"`} is probably meant`
  return { unmapped: `it names no resource${probably}` }
}

/** What somebody was thinking of who wrote these. */
const TOLD_BY: readonly (readonly [readonly string[], string])[] = [
  [FILES, 'filesystem'],
  [words('commands command'), 'shell'],
  [words('tools name'), 'mcp'],
  [words('id tool_id tool_type'), 'tool'],
  [HOSTS, 'http'],
  [['var'], 'env'],
]

/** Why nothing is granted by a form with an attribute that means nothing: without it, it would often mean all. */
export function strangerIn(element: Element, resource: string): Granted | null {
  return strangerAmong(element, ['resource', ...(BY_RESOURCE.get(resource) ?? OF_A_SERVER)])
}

/** The same for one of which these are known. */
export function strangerAmong({ attributes, isData }: Element, known: readonly string[]): Granted | null {
  const all = [...known, ...REMARKS]
  const stranger = Object.keys(attributes).find((key) => !all.includes(key))
  if (stranger === undefined) return null
  const probably = meant(stranger, known, (name) => `"${name}"`)
  return { unmapped: `it has no ${isData === true ? 'key' : 'attribute'} "${stranger}"${probably}` }
}
